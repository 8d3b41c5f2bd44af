"""Errors of a cell, from the reports of its kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

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
    offset = None if place is None else offset_of(source, *place)
    if offset is None:
        return GuestError(name, message, _guest_frames(told["stack"]))
    return faulty(cell, source, offset, name, message)


def _guest_frames(stack: str) -> str:
    """A stack trace without the frames of Node, through which cells are entered."""
    return "\n".join(line for line in stack.split("\n") if not _NODE_FRAME.search(line))
