"""Changes of files that stay beside their source until the host applies them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect
from interpstack_files.source import (
    FileEntry,
    FileLimitExceeded,
    FileLimits,
    FileSource,
    check_bytes,
    edited,
)

__all__ = ["Overlay"]

#: Lines without a change around a change in a diff.
_AROUND: Final = 3
#: Old times new lines that are compared one by one.
_COMPARED: Final = 1_000_000
_NO_END: Final = "\\ No newline at end of file"


@attrs.frozen
class _Change:
    """What became of one file.

    Attributes:
        before: The content in the source when it was changed first; `None` if there was no file.
        after: The content; `None` for a deleted file.
        when: The time of the last change.
    """

    before: bytes | None
    after: bytes | None
    when: datetime

    @property
    def size(self) -> int:
        """The bytes that it holds."""
        return len(self.before or b"") + len(self.after or b"")


class Overlay(FileSource):
    """A source whose changes are kept in memory, over another source that they do not reach.

    Code reads what it wrote. The host looks at the changes with `diff`, and has them written with
    `apply`, or forgotten with `clear`.

    Args:
        source: The source below.
    """

    def __init__(self, source: FileSource) -> None:
        expect(source, FileSource, "Overlay takes a FileSource, as DirectoryFiles('data')")
        self._source = source
        self._changes: dict[str, _Change] = {}

    # -- for the host ----------------------------------------------------------------------

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of the files that differ from the source as it was, sorted."""
        differ = (path for path, one in self._changes.items() if one.before != one.after)
        return tuple(sorted(differ))

    def diff(self) -> str:
        """Return the changes as a unified diff; of files that are not text, their sizes."""
        return "".join(_diff(path, self._changes[path]) for path in self.changed)

    async def apply(self) -> tuple[str, ...]:
        """Write the changes to the source, and return the paths that were changed.

        Each file is compared with what code saw before it changed it. If one differs, nothing is
        written. What code changes meanwhile stays in the overlay.

        Raises:
            ConfigurationError: The source has changed meanwhile.
        """
        changes = dict(self._changes)
        paths = self.changed
        for path in paths:
            if await self._now(path, _ALL) != changes[path].before:
                raise ConfigurationError(
                    f"{path} has changed since code changed it in the overlay, so nothing was "
                    "applied; look at both, then clear() the overlay or put the file back"
                )
        for path in paths:
            after = changes[path].after
            if after is None:
                await self._source.delete(path, _ALL)
            else:
                await self._source.write(path, after, _ALL)
            self._applied(path, changes[path])
        for path in changes.keys() - set(paths):  # those that code has undone itself
            self._applied(path, changes[path])
        return paths

    def _applied(self, path: str, change: _Change) -> None:
        """Forget a change that the source has; what code did since then comes after it."""
        now = self._changes.get(path)
        if now is change:
            del self._changes[path]
        elif now is not None:
            self._changes[path] = attrs.evolve(now, before=change.after)

    def clear(self) -> None:
        """Forget all changes."""
        self._changes.clear()

    async def _now(self, path: str, limits: FileLimits) -> bytes | None:
        try:
            return await self._source.read(path, limits)
        except FileNotFoundError:
            return None

    # -- for code --------------------------------------------------------------------------

    async def read(self, path: str, limits: FileLimits) -> bytes:
        change = self._changes.get(path)
        if change is None:
            self._refuse_folder(path)
            return await self._source.read(path, limits)
        if change.after is None:
            raise FileNotFoundError
        return change.after

    async def read_lines(
        self, path: str, first: int, last: int | None, limits: FileLimits
    ) -> Sequence[str]:
        if path in self._changes:
            return await super().read_lines(path, first, last, limits)
        self._refuse_folder(path)
        return await self._source.read_lines(path, first, last, limits)

    async def entries(self, path: str, limits: FileLimits) -> Sequence[FileEntry]:
        self._refuse_file_above(path + "/")
        prefix = "/" if path == "/" else f"{path}/"
        made = self._made_in(prefix)
        try:
            below = await self._source.entries(path, limits)
        except FileNotFoundError:
            if not made:
                raise
            below = ()
        found = {one.path: one for one in below if not self._is_deleted(one.path)}
        found |= {one.path: one for one in made if one.path not in found or one.type == "file"}
        if len(found) > limits.entries:
            raise FileLimitExceeded("entries")
        return [found[name] for name in sorted(found)]

    async def stat(self, path: str) -> FileEntry:
        change = self._changes.get(path)
        if change is None:
            if any(self._made_in(f"{path}/")):
                return FileEntry(path=path, type="folder")
            return await self._source.stat(path)
        if change.after is None:
            raise FileNotFoundError
        return _entry(path, change)

    async def write(self, path: str, data: bytes, limits: FileLimits) -> None:
        await self._change(path, lambda now: data, limits)

    async def append(self, path: str, data: bytes, limits: FileLimits) -> None:
        await self._change(path, lambda now: (now or b"") + data, limits)

    async def edit(self, path: str, old: str, new: str, every: bool, limits: FileLimits) -> int:
        count = 0

        def changed(now: bytes | None) -> bytes:
            nonlocal count
            if now is None:
                raise FileNotFoundError
            text, count = edited(now.decode(), old, new, every)
            return text.encode()

        await self._change(path, changed, limits)
        return count

    async def _change(
        self, path: str, changed: Callable[[bytes | None], bytes], limits: FileLimits
    ) -> None:
        self._refuse_folder(path)
        self._refuse_file_above(path)
        before = await self._before(path, limits)
        # From here on, no other change of the file can come between.
        known = self._changes.get(path)
        data = changed(before if known is None else known.after)
        check_bytes(len(data), limits)
        before = before if known is None else known.before
        self._hold(path, _Change(before, data, datetime.now(UTC)), limits)

    async def delete(self, path: str, limits: FileLimits) -> None:
        if (await self.stat(path)).type == "folder":
            raise PermissionError("it is a folder, and an overlay deletes only files")
        before = await self._before(path, limits)
        self._hold(path, _Change(before, None, datetime.now(UTC)), limits)

    def _hold(self, path: str, change: _Change, limits: FileLimits) -> None:
        held = sum(one.size for name, one in self._changes.items() if name != path) + change.size
        if held > limits.overlay_bytes:
            raise FileLimitExceeded("overlay_bytes", f"{held} bytes")
        self._changes[path] = change

    async def _before(self, path: str, limits: FileLimits) -> bytes | None:
        change = self._changes.get(path)
        return await self._now(path, limits) if change is None else change.before

    def _is_deleted(self, path: str) -> bool:
        change = self._changes.get(path)
        return change is not None and change.after is None

    def _made_in(self, prefix: str) -> list[FileEntry]:
        """Files in a folder that were written, and folders for those below."""
        found: dict[str, FileEntry] = {}
        for path, change in self._changes.items():
            if change.after is None or not path.startswith(prefix):
                continue
            name, _, rest = path[len(prefix) :].partition("/")
            made = prefix + name
            entry = FileEntry(path=made, type="folder") if rest else _entry(made, change)
            found.setdefault(made, entry)
        return list(found.values())

    def _refuse_folder(self, path: str) -> None:
        """Refuse a path that is a folder in the overlay alone."""
        if path != "/" and path not in self._changes and self._made_in(f"{path}/"):
            raise IsADirectoryError

    def _refuse_file_above(self, path: str) -> None:
        """Refuse a path through a file that was written in the overlay."""
        parts = path.split("/")
        for count in range(2, len(parts)):
            change = self._changes.get("/".join(parts[:count]))
            if change is not None and change.after is not None:
                raise NotADirectoryError


#: The limits of the host's own reads and writes.
_ALL: Final = FileLimits(file_bytes=2**40, entries=2**40)


def _entry(path: str, change: _Change) -> FileEntry:
    return FileEntry(path=path, size=len(change.after or b""), modified=change.when)


def _diff(path: str, change: _Change) -> str:
    shown = path if path.isprintable() else json.dumps(path)[1:-1]  # it has to stay in its line
    before, after = _lines(change.before), _lines(change.after)
    old = "/dev/null" if change.before is None else f"a{shown}"
    new = "/dev/null" if change.after is None else f"b{shown}"
    if before is None or after is None:
        sizes = " and ".join(
            f"{name} of {len(data or b'')} bytes"
            for name, data in ((old, change.before), (new, change.after))
        )
        return f"Binary files {sizes} differ\n"
    groups = _Compared(_operations(before, after)).get_grouped_opcodes(_AROUND)
    hunks = [_hunk(group, before, after) for group in groups]
    return f"--- {old}\n+++ {new}\n{''.join(hunks)}"


class _Compared(difflib.SequenceMatcher[str]):
    """Lists of lines that were compared already."""

    def __init__(self, operations: list[Any]) -> None:
        super().__init__()
        self._operations = operations

    def get_opcodes(self) -> list[Any]:
        return self._operations


def _operations(before: list[str], after: list[str]) -> list[Any]:
    """What made one list of lines of another, as `SequenceMatcher.get_opcodes` has it.

    Lines are compared one by one only where few differ: code may have written anything, and the
    time for it grows with the square of the lines, or faster.
    """
    start, most = 0, min(len(before), len(after))
    while start < most and before[start] == after[start]:
        start += 1
    end = 0
    while end < most - start and before[-1 - end] == after[-1 - end]:
        end += 1
    olds, news = before[start : len(before) - end], after[start : len(after) - end]
    inner: list[Any] = [("replace", 0, len(olds), 0, len(news))] if olds or news else []
    if olds and news and len(olds) * len(news) <= _COMPARED:
        inner = list(difflib.SequenceMatcher(None, olds, news).get_opcodes())
    shift = [(tag, *(at + start for at in places)) for tag, *places in inner]
    head = [("equal", 0, start, 0, start)] if start else []
    i, j = len(before) - end, len(after) - end
    tail = [("equal", i, len(before), j, len(after))] if end else []
    return [*head, *shift, *tail]


def _hunk(group: Sequence[Any], before: list[str], after: list[str]) -> str:
    first, last = group[0], group[-1]
    places = f"-{_range(first[1], last[2])} +{_range(first[3], last[4])}"
    lines = [f"@@ {places} @@\n"]
    for tag, i, i_end, j, j_end in group:
        if tag == "equal":
            lines += [f" {line}" for line in before[i:i_end]]
            continue
        lines += [f"-{line}" for line in before[i:i_end]]
        lines += [f"+{line}" for line in after[j:j_end]]
    ended = (one if one.endswith("\n") else f"{one}\n{_NO_END}\n" for one in lines)
    return "".join(ended)


def _range(start: int, stop: int) -> str:
    count = stop - start
    if count == 1:
        return f"{start + 1}"
    return f"{start + 1 if count else start},{count}"


def _lines(data: bytes | None) -> list[str] | None:
    """The lines of a text with their ends; `None` for anything but text."""
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
