"""Notes on the requests of suspended cells and stopped runs, which the next run must make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from interpstack import Request
from interpstack_durable.entries import Computed, asked_entry, compare, read_computed
from interpstack_durable.journal import Journal

__all__ = ["check_suspension_note", "suspension_note"]

#: The note on the requests.
_ASKED: Final = "asked aside"


def suspension_note(
    steps: int, asked: Sequence[Request], computed: Computed | None
) -> Mapping[str, Any]:
    """Return the note on the last requests of a cell that is suspended, or whose run stops.

    Args:
        steps: The number of steps that the guest has received.
        asked: Requests since the last of them.
        computed: The times of the computing that made them, if they are known.
    """
    noted = {"steps": steps, "asked": [asked_entry(request) for request in asked]}
    return {_ASKED: noted if computed is None else {**noted, "computed": list(computed)}}


def check_suspension_note(
    journal: Journal, steps: int, asked: Sequence[Request]
) -> Computed | None:
    """Compare the requests of a cell with those that it had made before its run stopped.

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
    if noted is None or noted["steps"] != steps:  # the cell continued after the note
        return None
    compare(steps + 1, noted["asked"], asked)
    return read_computed(noted)
