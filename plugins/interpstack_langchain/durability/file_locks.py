"""Locks of SQLite databases, which are files: locks on bytes of another file beside them."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
from pathlib import Path
from typing import Final

from interpstack_langchain.durability.database_locks import DatabaseLocks

__all__ = ["FileLocks"]

_log = logging.getLogger(__name__)

#: Added to the path of an SQLite database, as SQLite does for its own files.
_ENDING: Final = "-interpstack"
_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
#: Errors of a file that is locked by another process.
_LOCKED: Final = (errno.EACCES, errno.EAGAIN)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class FileLocks(DatabaseLocks):
    """Locks on bytes of an empty file beside an SQLite database.

    Where the file cannot be made or locked, a warning is logged and nothing is locked.

    Args:
        database: Path of the database.
    """

    def __init__(self, database: str) -> None:
        super().__init__()
        self._path = self.place = database + _ENDING
        self._lock = threading.Lock()
        self._file: int | None = None
        self._held: set[int] = set()
        self._broken = fcntl is None

    def take(self, number: int) -> bool:
        with self._lock:
            if self._broken:
                return True
            try:
                taken = self._take_in_place(number)
            except OSError as error:
                self._give_up(error)
                self._close_unused()
                return True
            if taken:
                self._held.add(number)
            self._close_unused()
            return taken

    def _take_in_place(self, number: int) -> bool:
        """Lock a byte of the file that the path leads to, where other processes look for it."""
        while True:
            if self._file is None:
                self._file = os.open(self._path, _FLAGS, 0o666)
            elif not self._is_in_place(self._file) and not self._move(self._file):
                return False
            if not _lock_byte(self._file, number):
                return False
            if self._is_in_place(self._file):
                return True

    def _is_in_place(self, file: int) -> bool:
        """Whether the path still leads to the open file, which another process may have removed."""
        try:
            return os.path.samestat(os.fstat(file), Path(self._path).stat())
        except FileNotFoundError:
            return False

    def _move(self, left: int) -> bool:
        """Leave a file that was removed, with all held locks, for the one in its place.

        Returns:
            Whether it was left: it is not while another process holds one of the locks there.
        """
        made = os.open(self._path, _FLAGS, 0o666)
        if not all(_lock_byte(made, held) for held in self._held):
            os.close(made)
            return False
        os.close(left)
        self._file = made
        return True

    def give_back(self, number: int) -> None:
        with self._lock:
            if self._file is not None and number in self._held:
                with contextlib.suppress(OSError):  # a broken file system has lost it anyway
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)
            self._held.discard(number)
            self._close_unused()

    def abandon(self) -> None:
        super().abandon()
        # At once: a close gives back all locks that the process has on the file then.
        self._lock = threading.Lock()
        self._held.clear()
        self._close_unused()

    def _close_unused(self) -> None:
        """Close the file while no lock is held, because a close gives all locks back."""
        if self._file is not None and not self._held:
            os.close(self._file)
            self._file = None

    def _give_up(self, error: OSError) -> None:
        self._broken = True
        _log.warning(
            "%s cannot be locked (%s), so two processes that resume one thread at the same time "
            "may both make its calls; make it and its folder writable",
            self._path,
            error,
        )


def _lock_byte(file: int, number: int) -> bool:
    """Lock a byte of a file; False if another process has locked it."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
    except OSError as error:
        if error.errno in _LOCKED:
            return False
        raise
    return True
