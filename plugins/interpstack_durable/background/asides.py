"""Notes on the requests of cells that are put aside or left, which the next run must make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from interpstack import Request
from interpstack_durable.entries import Computed, asked_entry, compare, read_computed
from interpstack_durable.journal import Journal

__all__ = ["aside_note", "check_aside"]

#: The note on the requests.
_ASKED: Final = "asked aside"


def aside_note(
    steps: int, asked: Sequence[Request], computed: Computed | None
) -> Mapping[str, Any]:
    """The note on the last requests of a cell that is put aside or left.

    Args:
        steps: The number of steps that the guest has received.
        asked: Requests since the last of them.
        computed: The times of the computing that made them, if they are known.
    """
    noted = {"steps": steps, "asked": [asked_entry(request) for request in asked]}
    return {_ASKED: noted if computed is None else {**noted, "computed": list(computed)}}


def check_aside(journal: Journal, steps: int, asked: Sequence[Request]) -> Computed | None:
    """Compare the requests of a cell with those that it had made when it was put aside or left.

    Args:
        journal: The journal of the cell.
        steps: The number of steps that the guest has received, all of them recorded.
        asked: Requests since the last of them.

    Returns:
        The times of the computing that made these requests, if they are noted.

    Raises:
        ReplayDivergence: A request differs, or is missing.
    """
    noted = journal.noted(_ASKED)
    if noted is None or noted["steps"] != steps:  # it went on after that
        return None
    compare(steps + 1, noted["asked"], asked)
    return read_computed(noted)
