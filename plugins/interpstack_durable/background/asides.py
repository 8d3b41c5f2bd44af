"""Notes on the unanswered requests of cells that are put aside, which the next run must make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from interpstack import Request
from interpstack_durable.entries import asked_entry, compare
from interpstack_durable.journal import Journal

__all__ = ["aside_note", "check_aside"]

#: The note on the requests.
_ASKED: Final = "asked aside"


def aside_note(steps: int, asked: Sequence[Request]) -> Mapping[str, Any]:
    """The note on the unanswered requests of a cell that is put aside.

    Args:
        steps: The number of steps that the guest has received.
        asked: Requests since the last of them.
    """
    return {_ASKED: {"steps": steps, "asked": [asked_entry(request) for request in asked]}}


def check_aside(journal: Journal, steps: int, asked: Sequence[Request]) -> None:
    """Compare the requests of a cell with those that it had made when it was put aside.

    Args:
        journal: The journal of the cell.
        steps: The number of steps that the guest has received, all of them recorded.
        asked: Requests since the last of them.

    Raises:
        ReplayDivergence: A request differs, or is missing.
    """
    noted = journal.noted(_ASKED)
    if noted is not None and noted["steps"] == steps:  # else it went on after that
        compare(steps + 1, noted["asked"], asked)
