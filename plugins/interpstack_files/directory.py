"""A directory of this machine as a source of files.

Each step of a path is opened relative to the folder before it, and no step follows a link. So no
other process that moves folders or links while code runs can lead a call out of the directory:
what was opened is what is used. Tried before, as deepagents does: to resolve the path and compare
it with the root, between which and the use of the path a link can be put in its way.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import IO, Final, Literal

from interpstack import ConfigurationError, call_blocking
from interpstack.checks import expect, shown
from interpstack_files.source import (
    FileEntry,
    FileLimitExceeded,
    FileLimits,
    FileSource,
    check_bytes,
    edited,
)

__all__ = ["DirectoryFiles"]

_LINK: Final = "it is a symbolic link, which files does not follow"
_NO_FILE: Final = "it is neither a file nor a folder"
#: Bytes that are read at once.
_CHUNK: Final = 2**20


class DirectoryFiles(FileSource):
    """The files below a directory. Symbolic links are listed, and never followed.

    Args:
        root: The directory, which must exist.

    Raises:
        ConfigurationError: There is no such directory, or the system has no calls to open paths
            relative to a folder, as Windows.
    """

    def __init__(self, root: str | Path) -> None:
        expect(root, (str, Path), "DirectoryFiles takes the path of a directory")
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise ConfigurationError(
                "a directory as files needs a POSIX system, which opens paths relative to a "
                "folder; use another FileSource here"
            )
        self._editing = threading.Lock()
        self._root = os.path.realpath(root)
        if not str(root) or not Path(self._root).is_dir():
            raise ConfigurationError(f"there is no directory {shown(str(root))} to take files from")

    async def read(self, path: str, limits: FileLimits) -> bytes:
        return await call_blocking(partial(self._read, path, limits))

    async def read_lines(
        self, path: str, first: int, last: int | None, limits: FileLimits
    ) -> Sequence[str]:
        """Return lines; the file may be larger than `file_bytes`, and is read to the last line."""
        return await call_blocking(partial(self._read_lines, path, first, last, limits))

    async def entries(self, path: str, limits: FileLimits) -> Sequence[FileEntry]:
        return await call_blocking(partial(self._entries, path, limits))

    async def stat(self, path: str) -> FileEntry:
        return await call_blocking(partial(self._stat, path))

    async def write(self, path: str, data: bytes, limits: FileLimits) -> None:
        """Replace the file in one step: readers see all of it or nothing."""
        await call_blocking(partial(self._write, path, data))

    async def edit(self, path: str, old: str, new: str, every: bool, limits: FileLimits) -> int:
        return await call_blocking(partial(self._edit, path, old, new, every, limits))

    async def append(self, path: str, data: bytes, limits: FileLimits) -> None:
        await call_blocking(partial(self._append, path, data, limits))

    async def delete(self, path: str, limits: FileLimits) -> None:
        await call_blocking(partial(self._delete, path))

    # -- in a thread -----------------------------------------------------------------------

    def _read(self, path: str, limits: FileLimits) -> bytes:
        with self._opened(path) as file:
            check_bytes(os.fstat(file.fileno()).st_size, limits)
            parts, size = [], 0
            while part := file.read(_CHUNK):  # it may grow, or be of a system that tells no sizes
                parts.append(part)
                size += len(part)
                check_bytes(size, limits)
        return b"".join(parts)

    def _read_lines(self, path: str, first: int, last: int | None, limits: FileLimits) -> list[str]:
        found: list[str] = []
        left = limits.file_bytes
        with self._opened(path) as file:
            number = 1
            while last is None or number <= last:
                line = file.readline(_CHUNK)
                if not line:
                    break
                ended = line.endswith(b"\n")
                if number >= first:
                    while not ended and left >= len(line):
                        more = file.readline(_CHUNK)
                        if not more:
                            break
                        line += more
                        ended = line.endswith(b"\n")
                    left -= len(line)
                    if left < 0:
                        raise FileLimitExceeded("file_bytes")
                    found.append(line.removesuffix(b"\n").removesuffix(b"\r").decode())
                    number += 1
                else:
                    number += ended
        return found

    def _entries(self, path: str, limits: FileLimits) -> list[FileEntry]:
        prefix = "" if path == "/" else path
        found: list[FileEntry] = []
        with self._folder(_parts(path)) as folder, os.scandir(folder) as entries:
            for entry in entries:
                if len(found) == limits.entries:
                    raise FileLimitExceeded("entries")
                if not _is_text(entry.name):
                    continue  # no path of a guest could name it
                with suppress(FileNotFoundError):  # it was deleted meanwhile
                    about = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
                    found.append(_entry(f"{prefix}/{entry.name}", about))
        return sorted(found, key=lambda one: one.path)

    def _stat(self, path: str) -> FileEntry:
        *before, last = _parts(path) or ["."]
        with self._folder(before) as folder:
            return _entry(path, os.stat(last, dir_fd=folder, follow_symlinks=False))

    def _edit(self, path: str, old: str, new: str, every: bool, limits: FileLimits) -> int:
        with self._editing:  # changes that code makes side by side must not undo each other
            text, count = edited(self._read(path, limits).decode(), old, new, every)
            data = text.encode()
            check_bytes(len(data), limits)
            self._write(path, data)
        return count

    def _write(self, path: str, data: bytes) -> None:
        *before, last = _parts(path) or [""]
        if not last:
            raise IsADirectoryError
        with self._folder(before, make=True) as folder:
            mode = self._mode_of(last, folder)
            made = f".{token_hex(8)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(made, flags, 0o666, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    if mode is not None:
                        os.fchmod(file.fileno(), mode)
                    file.write(data)
                os.replace(made, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(made, dir_fd=folder)
                raise

    def _mode_of(self, name: str, folder: int) -> int | None:
        """The permissions of the file to replace; `None` if there is none.

        Raises:
            OSError: It is no file.
        """
        try:
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        _check_file(about)
        return about.st_mode & 0o777

    def _append(self, path: str, data: bytes, limits: FileLimits) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with self._editing, self._opened(path, flags, "ab", make=True) as file:
            check_bytes(os.fstat(file.fileno()).st_size + len(data), limits)
            file.write(data)

    def _delete(self, path: str) -> None:
        *before, last = _parts(path) or [""]
        if not last:
            raise PermissionError("it is the root of all files")
        with self._folder(before) as folder:
            about = os.stat(last, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode):
                os.rmdir(last, dir_fd=folder)
            else:
                os.unlink(last, dir_fd=folder)  # of a link, the link itself

    # -- paths -----------------------------------------------------------------------------

    @contextmanager
    def _folder(self, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
        """Open a folder step by step, so that no step can lead out of the root."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        folder = os.open(self._root, flags)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                try:
                    inner = os.open(part, flags, dir_fd=folder)
                except NotADirectoryError:
                    about = os.stat(part, dir_fd=folder, follow_symlinks=False)
                    if stat.S_ISLNK(about.st_mode):
                        raise PermissionError(f"a part of the path is a link: {_LINK}") from None
                    raise
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _opened(
        self,
        path: str,
        flags: int = os.O_RDONLY,
        mode: Literal["rb", "ab"] = "rb",
        *,
        make: bool = False,
    ) -> Iterator[IO[bytes]]:
        """Open a file, and nothing else: neither a link nor a pipe, which would wait for others."""
        *before, last = _parts(path) or [""]
        if not last:
            raise IsADirectoryError
        with self._folder(before, make=make) as folder:
            # A device is not opened at all: even that may have an effect.
            with suppress(FileNotFoundError):
                _check_file(os.stat(last, dir_fd=folder, follow_symlinks=False))
            kept = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(last, kept, 0o666, dir_fd=folder)
        try:
            _check_file(os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        with os.fdopen(descriptor, mode) as file:
            yield file


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _is_text(name: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def _check_file(about: os.stat_result) -> None:
    if stat.S_ISREG(about.st_mode):
        return
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError
    raise PermissionError(_LINK if stat.S_ISLNK(about.st_mode) else _NO_FILE)


def _entry(path: str, about: os.stat_result) -> FileEntry:
    mode = about.st_mode
    kind: Literal["file", "folder", "link", "other"] = "other"
    if stat.S_ISREG(mode):
        kind = "file"
    elif stat.S_ISDIR(mode):
        kind = "folder"
    elif stat.S_ISLNK(mode):
        kind = "link"
    return FileEntry(
        path=path,
        type=kind,
        size=about.st_size if kind == "file" else None,
        modified=datetime.fromtimestamp(about.st_mtime, UTC),
    )
