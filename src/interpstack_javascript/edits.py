"""Edits of a source, and the way back from places in the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

import attrs

__all__ = ["Edit", "Edited", "Shifts", "edited", "merged", "written_column"]

#: Start and end of the replaced text, and its replacement.
Edit: TypeAlias = tuple[int, int, str]
#: A table of the kernel; see `Edited`.
Shifts: TypeAlias = tuple[int, ...] | None
#: As engines count lines.
_BREAK: Final = re.compile(r"\r\n|[\n\r\u2028\u2029]")
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
        ends = [found.end() for found in _BREAK.finditer(text)]
        if ends:
            self.line, self.column = self.line + len(ends), 0
        self.column += _units(text[ends[-1] :] if ends else text)
        return bool(ends)


def _units(text: str) -> int:
    """The length as engines count: in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
