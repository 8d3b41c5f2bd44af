"""Records of cells in the background, in the graph's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

__all__ = ["CELLS", "CellRecord", "ended_record", "explain_expired", "running_ids"]

#: The channel of the records, by the cells' ids.
CELLS: Final = "interpreter_cells"
#: Ids that are listed at most.
_MAX_LISTED: Final = 20


@attrs.frozen(kw_only=True)
class CellRecord:
    """The record of a suspended cell.

    Attributes:
        id: The id of the cell, as the model knows it.
        code: The source.
        graph: Checkpoint namespace of the graph that began the cell.
        checkpoint: The checkpoint that holds the cell's journal.
        name: Name of the model's call that began the cell, among the calls of its message.
        place: Identifies that message.
        turn: The turn that began the cell.
        chars: Characters of console output that the model has seen.
        digest: Identifies them.
        attached: Images and files that the model has seen; left out of records without any.
    """

    id: str
    code: str
    graph: str
    checkpoint: str
    name: str
    place: str
    turn: str
    chars: int = 0
    digest: str = ""
    attached: int = 0

    @classmethod
    def of(cls, state: Mapping[str, Any], cell: str) -> CellRecord | None:
        """Return the record of a running cell in the graph's state; `None` if there is none."""
        stored = _records(state).get(cell)
        if not isinstance(stored, Mapping) or "ended" in stored:
            return None
        fields = {field.name: field.type for field in attrs.fields(cls)}
        if {*stored, "attached"} != {*fields} or stored["id"] != cell:
            return None
        numbers = ("chars", "attached")
        fits = all(isinstance(stored[key], int if key in numbers else str) for key in stored)
        return cls(**stored) if fits else None

    def as_data(self) -> dict[str, Any]:
        """Return the record as plain data."""
        data = attrs.asdict(self)
        return data if self.attached else {key: data[key] for key in data if key != "attached"}


def ended_record(why: str) -> dict[str, Any]:
    """Return the record of a cell that has ended, with the reason."""
    return {"ended": why}


def running_ids(state: Mapping[str, Any], turn: str | None = None) -> list[str]:
    """Return the ids of the cells that have not ended; with `turn`, of those that it began."""
    records = (CellRecord.of(state, cell) for cell in _records(state))
    return [one.id for one in records if one is not None and turn in (None, one.turn)]


def explain_expired(state: Mapping[str, Any], cell: str, running: Sequence[str]) -> str:
    """Explain why no cell with this id can be continued, and name the cells that can.

    Args:
        state: The state with the records of the cells.
        cell: The id.
        running: The ids of the cells that have not ended.
    """
    stored = _records(state).get(cell)
    why = stored.get("ended") if isinstance(stored, Mapping) else None
    if why is None:
        why = "there is no such cell" if stored is None else "it ended with an earlier turn"
    listed = ", ".join(running[:_MAX_LISTED])
    rest = f"running: {listed}" if listed else "no cell is running"
    return f"{why}; {rest}"


def _records(state: Mapping[str, Any]) -> Mapping[str, Any]:
    records = state.get(CELLS)
    return records if isinstance(records, Mapping) else {}
