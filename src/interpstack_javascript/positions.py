"""Places in sources: as engines name them, and as errors show them."""

from __future__ import annotations

from itertools import islice
from typing import Final

from interpstack.contracts.protocol import Cell, GuestError
from interpstack.guests import place_at
from interpstack_javascript.edits import LINE_BREAK, Shifts, written_column

__all__ = ["faulty", "offset_in", "offset_of"]

#: Code units of the longest line break; an engine may name one of them.
_BREAK_UNITS: Final = 2


def faulty(cell: Cell, offset: int, name: str, message: str) -> GuestError:
    """The error of a cell that does not parse.

    Args:
        cell: As the user wrote it.
        offset: Index of the character at fault.
        name: The name of the error.
        message: The message of the error.
    """
    place = place_at(cell.source, offset)
    stack = f"    at {cell.name}:{place.line}:{place.column}"
    return GuestError(name, message, stack, place=place)


def offset_in(source: str, shifts: Shifts, line: int, column: int) -> int | None:
    """Return the index in a source of a place that an engine names in its prepared form.

    Args:
        source: As the user wrote it.
        shifts: The table of the prepared form.
        line: From 1.
        column: From 1, in UTF-16 code units.

    Returns:
        The index; `None` for numbers that are no place of the source.
    """
    if not 0 < column < 2**31 or not 0 < line < 2**31:
        return None
    if shifts and line > shifts[0]:
        return len(source)
    written = written_column(shifts, line, column)
    return None if written is None else offset_of(source, line, written)


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
    breaks = islice(LINE_BREAK.finditer(source), line - 1)
    ends = [0, *(found.end() for found in breaks)]
    if len(ends) < line:
        return len(source) if len(ends) == line - 1 else None
    start = ends[-1]
    following = LINE_BREAK.search(source, start)
    text = source[start : len(source) if following is None else following.start()]
    units = text.encode("utf-16-le", "surrogatepass")
    if column - 1 > len(units) // 2 + _BREAK_UNITS:
        return None
    return start + len(units[: 2 * (column - 1)].decode("utf-16-le", "ignore"))
