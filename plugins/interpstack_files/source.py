"""Sources of files: the contract of their backends, and the faults that they raise."""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal
from weakref import WeakKeyDictionary

import attrs

from interpstack import CellContext
from interpstack.checks import positive
from interpstack_files.patterns import Pattern

__all__ = [
    "FileEntry",
    "FileLimitExceeded",
    "FileLimits",
    "FileSource",
    "check_bytes",
    "edited",
    "lines_of",
]

_MIB: Final = 2**20
_BOUND: Final = positive(int, optional=False, of="FileLimits")


@attrs.frozen(kw_only=True)
class FileLimits:
    """Limits of the files of a source.

    Attributes:
        file_bytes: Bytes of one file that code reads or writes, and of the lines that one call
            reads. `Limits.value_bytes` bounds their transport as well.
        entries: Entries of one folder, and files that a pattern finds.
        visited: Entries that are visited to find the files of a pattern.
        overlay_bytes: Bytes of all files that an overlay holds.

    Raises:
        ConfigurationError: A value is not a whole number above 0.
    """

    file_bytes: int = attrs.field(default=8 * _MIB, validator=_BOUND)
    entries: int = attrs.field(default=10_000, validator=_BOUND)
    visited: int = attrs.field(default=200_000, validator=_BOUND)
    overlay_bytes: int = attrs.field(default=64 * _MIB, validator=_BOUND)


class FileLimitExceeded(Exception):
    """Raised by a source for what is above a limit.

    Attributes:
        limit: The name of the limit, an attribute of `FileLimits`.
        found: What was found, as `9000000 bytes`; empty if it is not known.
    """

    def __init__(self, limit: str, found: str = "") -> None:
        super().__init__(limit, found)
        self.limit = limit
        self.found = found


@attrs.frozen(kw_only=True)
class FileEntry:
    """A file, a folder, or another entry of a folder.

    Attributes:
        path: The path from the root, which begins with `/`.
        type: The kind; links are not followed.
        size: Bytes of a file; `None` if unknown.
        modified: The time of the last change, with its time zone; `None` if unknown.
    """

    path: str
    type: Literal["file", "folder", "link", "other"] = "file"
    size: int | None = None
    modified: datetime | None = None


class FileSource(abc.ABC):
    """A source of files, and a place for them.

    A path begins with `/`, has no empty parts, no `.` and no `..`, and no `/` at its end; `/` alone
    is the root. Methods raise `FileNotFoundError`, `IsADirectoryError`, `NotADirectoryError` and
    `FileExistsError` for what these names say; `PermissionError` and `ValueError` with a reason, as
    in `PermissionError("it is a symbolic link")`; and `FileLimitExceeded`. They never follow a link
    to anything outside the source.

    Attributes:
        tools: The host's tool behind a function of code, by the function's name in Python: budgets
            count its calls under both names.
        passes: Exceptions that are the host's own, see `Bridge.passes`.
    """

    tools: Mapping[str, str] = {}
    passes: tuple[type[BaseException], ...] = ()

    def within(self, context: CellContext) -> FileSource:
        """Return the source as one call of code uses it; effectively the source itself."""
        return self

    @abc.abstractmethod
    async def read(self, path: str, limits: FileLimits) -> bytes:
        """Return the content of a file."""

    @abc.abstractmethod
    async def entries(self, path: str, limits: FileLimits) -> Sequence[FileEntry]:
        """Return the entries of a folder."""

    @abc.abstractmethod
    async def stat(self, path: str) -> FileEntry:
        """Return what is known of a file or a folder."""

    async def write(self, path: str, data: bytes, limits: FileLimits) -> None:
        """Write a file whole, and make its folders. Effectively, refuse to."""
        raise PermissionError("the source of these files cannot be written to")

    async def delete(self, path: str, limits: FileLimits) -> None:
        """Delete a file, or an empty folder. Effectively, refuse to."""
        raise PermissionError("the source of these files cannot be written to")

    async def read_lines(
        self, path: str, first: int, last: int | None, limits: FileLimits
    ) -> Sequence[str]:
        """Return lines of a text from `first` to `last`, counted from 1; of the rest for `None`.

        Effectively, read the file and take its lines.
        """
        return lines_of(await self.read(path, limits), first, last)

    async def append(self, path: str, data: bytes, limits: FileLimits) -> None:
        """Add to the end of a file, or write a new one. Effectively, read the file and write it."""
        async with self._changing():
            try:
                before = await self.read(path, limits)
            except FileNotFoundError:
                before = b""
            check_bytes(len(before) + len(data), limits)
            await self.write(path, before + data, limits)

    async def edit(self, path: str, old: str, new: str, every: bool, limits: FileLimits) -> int:
        """Replace text; return how often. Effectively, read the file and write it."""
        async with self._changing():
            text, count = edited((await self.read(path, limits)).decode(), old, new, every)
            data = text.encode()
            check_bytes(len(data), limits)
            await self.write(path, data, limits)
        return count

    def _changing(self) -> asyncio.Lock:
        """Return the lock of the running loop: what is read and then written is changed by one."""
        locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
        locks = vars(self).setdefault("_changes_of_loops", WeakKeyDictionary())
        return locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def glob(self, pattern: Pattern, path: str, limits: FileLimits) -> Sequence[str]:
        """Return the paths of the files below a folder that a pattern matches.

        Effectively, go through the folders that may have some.
        """
        found: list[str] = []
        waiting, visited = [(path, pattern.start)], 0
        all_entries = attrs.evolve(limits, entries=limits.visited)
        while waiting:
            folder, state = waiting.pop()
            try:
                entries = await self.entries(folder, all_entries)
            except FileLimitExceeded:
                raise FileLimitExceeded("visited") from None
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                if folder == path:
                    raise
                continue  # it is gone, or is not for this source to read
            visited += len(entries)
            if visited > limits.visited:
                raise FileLimitExceeded("visited")
            for entry in entries:
                after = pattern.after(state, entry.path.rpartition("/")[2])
                if entry.type == "folder" and after:
                    waiting.append((entry.path, after))
                if entry.type == "file" and pattern.ends(after):
                    found.append(entry.path)
                    if len(found) > limits.entries:
                        raise FileLimitExceeded("entries")
        return sorted(found)


def check_bytes(count: int, limits: FileLimits) -> None:
    """Refuse the content of a file that is too long.

    Raises:
        FileLimitExceeded: It is.
    """
    if count > limits.file_bytes:
        raise FileLimitExceeded("file_bytes", f"{count} bytes")


def lines_of(data: bytes, first: int, last: int | None) -> list[str]:
    """Lines of a text in UTF-8, without their ends, which are LF or CR and LF."""
    lines = data.split(b"\n")
    if not lines[-1]:
        del lines[-1]  # the end of the last line
    return [line.removesuffix(b"\r").decode() for line in lines[first - 1 : last]]


def edited(text: str, old: str, new: str, every: bool) -> tuple[str, int]:
    """Replace a part of a text, which is there once, or more often if `every` one is replaced.

    Raises:
        ValueError: The part is not there, or more than once.
    """
    count = text.count(old)
    if not count:
        raise ValueError(
            "the old text is not in it; text is compared character by character, with blanks and "
            "line ends, so take it from what the file holds now"
        )
    if count > 1 and not every:
        raise ValueError(
            f"the old text is in it {count} times; pass more of the text around the one that is "
            "meant, or the option all to replace each"
        )
    return text.replace(old, new), count
