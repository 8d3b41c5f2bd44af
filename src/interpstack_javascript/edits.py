"""Edits of a source, and the way back from places in the result."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

import attrs

__all__ = [
    "LINE_BREAK",
    "Edit",
    "Edited",
    "Shifts",
    "edited",
    "in_bytes",
    "merged",
    "written_column",
]

#: Start and end of the replaced text, and its replacement.
Edit: TypeAlias = tuple[int, int, str]
#: A table of the kernel; see `Edited`.
Shifts: TypeAlias = tuple[int, ...] | None
#: As engines count lines.
LINE_BREAK: Final = re.compile(r"\r\n|[\n\r\u2028\u2029]")
#: Characters of more than one byte in UTF-8.
_WIDE: Final = re.compile(r"[^\x00-\x7f]{1,256}")
#: Parts of one source above which its columns are given up: an engine has to keep them.
_MOST: Final = 20_000


@attrs.frozen
class Edited:
    """A source after edits.

    Attributes:
        text: The result.
        shifts: The kernel's table that leads from columns of the result to those of the source:
            the number of lines, then five numbers for each part that differs. Empty if no column
            has moved, `None` for too many parts. `kernel/places.js` describes it.
    """

    text: str
    shifts: Shifts = ()


def edited(source: str, edits: Iterable[Edit]) -> Edited:
    """A source with edits, which do not overlap, made in it.

    An edit has as many line breaks as the text that it replaces, at its end. Of edits at one place,
    the first given comes first.
    """
    ordered = sorted(edits, key=itemgetter(0, 1))
    parts, at = [], 0
    for start, end, text in ordered:
        parts += [source[at:start], text]
        at = end
    return Edited("".join([*parts, source[at:]]), _shifts(source, ordered))


def merged(one: Shifts, other: Shifts) -> Shifts:
    """One table for two scripts of the same source, for engines that cannot tell them apart."""
    if not other:
        return one
    if one is None or not one:
        return other if one is not None else None
    entries = [each[at : at + 5] for each in (one, other) for at in range(1, len(each), 5)]
    return (max(one[0], other[0]), *(number for entry in sorted(entries) for number in entry))


def in_bytes(shifts: Shifts, text: str) -> Shifts:
    """Return the table of a result for an engine that counts columns in bytes of UTF-8.

    Args:
        shifts: The table of the result, in UTF-16 code units.
        text: The result.
    """
    if shifts is None or text.isascii():
        return shifts
    parts: dict[int, list[tuple[int, ...]]] = {}
    for start in range(1, len(shifts), 5):
        parts.setdefault(shifts[start], []).append(shifts[start + 1 : start + 5])
    made, lines = list[int](), LINE_BREAK.split(text)
    for number, line in enumerate(lines, 1):
        for part in _bytes_of(line, parts.get(number, [])):
            made += number, *part
        if len(made) > 5 * _MOST:
            return None
    return (shifts[0] if shifts else len(lines), *made) if made else ()


def _bytes_of(line: str, parts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the parts of a line in bytes, and one more for each run of wide characters."""
    if line.isascii():
        return parts
    wide = _Wide.of(line)
    pieces, at, written = list[tuple[int, ...]](), 0, 0
    for start, end, written_start, written_end in parts:
        pieces += wide.between(at, start, written)
        pieces.append((wide.byte(start), wide.byte(end), written_start, written_end))
        at, written = end, written_end
    return [*pieces, *wide.between(at, _units(line), written)]


@attrs.frozen
class _Wide:
    """The runs of wide characters in a line: where they start in code units and in bytes."""

    units: list[int]
    bytes: list[int]
    texts: list[str]

    @classmethod
    def of(cls, line: str) -> _Wide:
        made, at, unit, byte = cls([0], [0], [""]), 0, 0, 0
        for found in _WIDE.finditer(line):
            unit, byte = unit + found.start() - at, byte + found.start() - at
            made.units.append(unit)
            made.bytes.append(byte)
            made.texts.append(found[0])
            unit, byte, at = unit + _units(found[0]), byte + len(found[0].encode()), found.end()
        return made

    def byte(self, unit: int) -> int:
        """Return the offset in bytes of an offset in code units."""
        run = bisect_right(self.units, unit) - 1
        inside = unit - self.units[run]
        text = self.texts[run].encode("utf-16-le")
        behind = max(0, inside - len(text) // 2)
        before = len(text[: 2 * inside].decode("utf-16-le", "ignore").encode())
        return self.bytes[run] + before + behind

    def between(self, start: int, end: int, written: int) -> Iterable[tuple[int, ...]]:
        """Yield a part for each run between two offsets in code units.

        Args:
            start: Where the text begins that stands in the source as in the result.
            end: Where it ends.
            written: Where it begins in the source.
        """
        for run in range(max(1, bisect_right(self.units, start) - 1), len(self.units)):
            if self.units[run] >= end:
                return
            first = max(start, self.units[run])
            last = min(end, self.units[run] + _units(self.texts[run]))
            if first < last:
                moved = written - start
                yield self.byte(first), self.byte(last), first + moved, last + moved


def written_column(shifts: Shifts, line: int, column: int) -> int | None:
    """The column of a place in the source, from that in the result; both from 1.

    Returns:
        `None` for a place behind the source, or in a source of too many parts.
    """
    if shifts is None or (shifts and line > shifts[0]):
        return None
    at = column - 1
    entry: tuple[int, ...] = ()
    for start in range(1, len(shifts), 5):
        if shifts[start] > line or (shifts[start] == line and shifts[start + 1] > at):
            break
        entry = shifts[start : start + 5]
    if not entry or entry[0] != line:
        return column
    return (entry[3] if at < entry[2] else at - entry[2] + entry[4]) + 1


def _shifts(source: str, edits: Sequence[Edit]) -> Shifts:
    moving = [edit for edit in edits if len(edit[2]) != edit[1] - edit[0] or "\n" in edit[2]]
    if not moving:
        return ()
    if len(moving) > _MOST:
        return None
    shifts, place, at, grown = list[int](), _Place(), 0, 0
    for start, end, text in moving:
        if place.advance(source[at:start]):
            grown = 0
        line, written, length = place.line, place.column, _units(text.rstrip("\n"))
        made, at = written + grown, end
        if place.advance(source[start:end]):
            shifts += line, made, made + length, written, written
            shifts += place.line, 0, 0, 0, place.column
            grown = -place.column
        else:
            shifts += line, made, made + length, written, place.column
            grown += length - (place.column - written)
    place.advance(source[at:])
    return (place.line, *shifts)


@attrs.define
class _Place:
    """A place in a source: its line, from 1, and its column, from 0."""

    line: int = 1
    column: int = 0

    def advance(self, text: str) -> bool:
        """Move behind this text; whether that is on another line."""
        ends = [found.end() for found in LINE_BREAK.finditer(text)]
        if ends:
            self.line, self.column = self.line + len(ends), 0
        self.column += _units(text[ends[-1] :] if ends else text)
        return bool(ends)


def _units(text: str) -> int:
    """The length as engines count: in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
