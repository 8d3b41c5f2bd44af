"""Errors of a cell, from the reports of its kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from interpstack_core import Cell, GuestError
from interpstack_javascript.positions import faulty, offset_of

__all__ = ["told_error"]

_NODE_FRAME: Final = re.compile(r"^\s*at (?:.* \()?node:")


def told_error(
    told: Mapping[str, str], place: Sequence[int] | None, cell: Cell, source: str
) -> GuestError:
    """An error with its place in the cell, or with the guest's part of its stack trace.

    Args:
        told: Name, message and stack trace.
        place: Line and column in the source that ran, if the kernel tells them.
        cell: The cell.
        source: The source that ran.
    """
    name, message = told["name"], told["message"]
    if place is None or not _is_place(place):
        return GuestError(name, message, _guest_frames(told["stack"]))
    return faulty(cell, source, offset_of(source, *place), name, message)


def _guest_frames(stack: str) -> str:
    """A stack trace without the frames of Node, through which cells are entered."""
    return "\n".join(line for line in stack.split("\n") if not _NODE_FRAME.search(line))


def _is_place(place: Any) -> bool:
    """Whether this is a line and a column, as a kernel may tell them."""
    return (
        isinstance(place, list)
        and len(place) == 2
        and all(type(number) is int and 0 < number < 2**31 for number in place)
    )
