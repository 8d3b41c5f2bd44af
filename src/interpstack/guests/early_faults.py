"""Faults of a cell that are found before anything of it runs, as one error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from interpstack.checks import Value
from interpstack.contracts.protocol import Cell, GuestError
from interpstack.guests.places import place_at

__all__ = ["NOT_RUN", "EarlyFault", "not_run", "refused"]

#: How the error of a cell begins that is not run.
NOT_RUN: Final = "found before running, nothing of the cell has run:"
#: Faults that an error lists.
_LISTED: Final = 20


@attrs.frozen(eq=False, repr=False)
class EarlyFault(Value):
    """A part of a cell that cannot be right.

    Attributes:
        offset: Index of its first character.
        error: The error that the run would have ended with.
    """

    offset: int
    error: GuestError


def refused(cell: Cell, faults: Sequence[EarlyFault]) -> GuestError:
    """The error of a cell that is not run, with all its faults in the order of the source.

    Args:
        cell: The cell, as the user wrote it.
        faults: At least one.
    """
    ordered = sorted(faults, key=lambda fault: fault.offset)
    places = [place_at(cell.source, fault.offset) for fault in ordered[:_LISTED]]
    lines = [
        f"{cell.name}:{place.line}:{place.column}: {fault.error.message}"
        for place, fault in zip(places, ordered, strict=False)
    ]
    names = {fault.error.name for fault in faults}
    name = names.pop() if len(names) == 1 else "TypeError"
    return GuestError(name, not_run(lines, len(ordered)), place=places[0])


def not_run(faults: Iterable[str], count: int) -> str:
    """The message of an error for a cell that is not run.

    Args:
        faults: The first ones, each with its place.
        count: The number of all.
    """
    lines = [f"  at {one}" for one in faults]
    rest = [f"  … {count - len(lines)} more"] if count > len(lines) else []
    return "\n".join([NOT_RUN, *lines, *rest])
