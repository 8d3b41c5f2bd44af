"""From a place in a prepared cell to the same place in the source that the user wrote.

Preparation preserves lines, and most columns; see `cells.py`. So two corresponding lines differ in
few parts, and positions before the first or behind the last of these parts can be mapped.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from interpstack_core.protocol import Cell, GuestError
from interpstack_protocol import place_at

__all__ = ["faulty", "offset_of", "original_offset"]

_BREAK: Final = re.compile(r"\r\n|[\n\r\u2028\u2029]")
#: Code units of the longest line break; an engine may name one of them.
_BREAK_UNITS: Final = 2
#: What preparation replaces by a word of the same width.
_REPLACED: Final = re.compile(r"\b(?:let|const|import)\b")


def faulty(cell: Cell, prepared: str, offset: int, name: str, message: str) -> GuestError:
    """The error of a cell that did not parse.

    Args:
        cell: As the user wrote it.
        prepared: The source for the engine.
        offset: The offset of the fault.
        name: The name of the error.
        message: The message of the error.
    """
    place = place_at(cell.source, original_offset(cell.source, prepared, offset))
    stack = f"    at {cell.name}:{place.line}:{place.column}"
    return GuestError(name, message, stack, place=place)


def offset_of(source: str, line: int, column: int) -> int | None:
    """Return the index of the character that an engine names.

    An engine may name any numbers: V8 has faults without a place, and guest code writes stack
    traces of its own.

    Args:
        source: The source for the engine.
        line: From 1.
        column: From 1, in UTF-16 code units, as engines count.

    Returns:
        The index; the length of the source for the line behind the last one, which engines add;
        `None` for numbers that are no place of the source.
    """
    if not 0 < line <= len(source) + 2 or column < 1:
        return None
    breaks = islice(_BREAK.finditer(source), line - 1)
    ends = [0, *(found.end() for found in breaks)]
    if len(ends) < line:
        return len(source) if len(ends) == line - 1 else None
    start = ends[-1]
    following = _BREAK.search(source, start)
    text = source[start : len(source) if following is None else following.start()]
    units = text.encode("utf-16-le", "surrogatepass")
    if column - 1 > len(units) // 2 + _BREAK_UNITS:
        return None
    return start + len(units[: 2 * (column - 1)].decode("utf-16-le", "ignore"))


def original_offset(source: str, prepared: str, offset: int) -> int:
    """The index in `source` of the text at `offset` in `prepared`, or of its origin."""
    if source == prepared:
        return offset
    start = prepared.rfind("\n", 0, offset) + 1
    row = prepared.count("\n", 0, start)
    lines = source.split("\n")
    if row >= len(lines):
        return len(source)
    end = prepared.find("\n", start)
    made = prepared[start : len(prepared) if end < 0 else end]
    column = _original_column(lines[row], made, offset - start)
    return sum(len(line) + 1 for line in lines[:row]) + column


def _original_column(line: str, made: str, column: int) -> int:
    line, made = _REPLACED.sub(_same_width, line), _REPLACED.sub(_same_width, made)
    behind = len(made) - _common(line[::-1], made[::-1])
    if column >= behind:
        return max(0, column + len(line) - len(made))
    return min(column, _common(line, made))


def _same_width(found: re.Match[str]) -> str:
    return ("$mport" if found[0] == "import" else "var").ljust(len(found[0]))


def _common(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
