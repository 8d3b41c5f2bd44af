"""Records of cells in the background, in the graph's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

__all__ = ["CELLS", "CellRecord", "ended_record", "gone", "running_ids"]

#: The channel of the records, by the cells' ids.
CELLS: Final = "interpreter_cells"
#: Ids that are listed at most.
_MAX_LISTED: Final = 20


@attrs.frozen(kw_only=True)
class CellRecord:
    """The record of a cell that was put aside.

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
        attached: Images and files that the model has seen; records of a cell without any lack it.
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
        """The record of a running cell in the graph's state; `None` if there is none."""
        told = _records(state).get(cell)
        if not isinstance(told, Mapping) or "ended" in told:
            return None
        fields = {field.name: field.type for field in attrs.fields(cls)}
        if {*told, "attached"} != {*fields} or told["id"] != cell:
            return None
        numbers = ("chars", "attached")
        fits = all(isinstance(told[key], int if key in numbers else str) for key in told)
        return cls(**told) if fits else None

    def told(self) -> dict[str, Any]:
        """The record as plain data."""
        told = attrs.asdict(self)
        return told if self.attached else {key: told[key] for key in told if key != "attached"}


def ended_record(why: str) -> dict[str, Any]:
    """The record of a cell that has ended, and why."""
    return {"ended": why}


def running_ids(state: Mapping[str, Any], turn: str | None = None) -> list[str]:
    """The ids of the cells that have not ended; with `turn`, of those that the turn began."""
    records = (CellRecord.of(state, cell) for cell in _records(state))
    return [one.id for one in records if one is not None and turn in (None, one.turn)]


def gone(state: Mapping[str, Any], cell: str, turn: str | None = None) -> str:
    """An explanation why no cell with this id can be continued, and which cells can."""
    told = _records(state).get(cell)
    why = told.get("ended") if isinstance(told, Mapping) else None
    if why is None:
        why = "there is no such cell" if told is None else "it ended with an earlier turn"
    running = running_ids(state, turn)[:_MAX_LISTED]
    rest = f"running: {', '.join(running)}" if running else "no cell is running"
    return f"{why}; {rest}"


def _records(state: Mapping[str, Any]) -> Mapping[str, Any]:
    records = state.get(CELLS)
    return records if isinstance(records, Mapping) else {}
