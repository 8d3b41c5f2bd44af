"""Recorded cells in the background: the calls about each, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from interpstack import Outcome
from interpstack_durable.api import SeenOutput
from interpstack_langchain.background.cell_records import CELLS
from interpstack_langchain.background.terminations import ENDED, TERMINATED
from interpstack_langchain.evals.watched import unseen
from interpstack_langchain.replay.recorded_steps import RecordedStep
from interpstack_langchain.state.channels import Channels

__all__ = ["BackgroundCall", "RecordedCells", "SuspendedCell"]


@attrs.frozen(kw_only=True)
class BackgroundCall:
    """One call of the model that began, continued or ended a cell.

    Attributes:
        tool: The called tool.
        answer: The answer to the model.
        record: The record of the cell that the call wrote.
        writes: Everything that the call wrote, by plain names of the channels.
    """

    tool: str
    answer: str
    record: Mapping[str, Any]
    writes: Sequence[tuple[str, Any]] = attrs.field(repr=False)

    @property
    def ended(self) -> str | None:
        """The reason why the cell is over; `None` if it was suspended."""
        why = self.record.get("ended")
        return None if why is None else str(why)


@attrs.frozen(kw_only=True)
class SuspendedCell:
    """A suspended cell.

    Attributes:
        id: The id of the cell, as the model knows it.
        calls: The calls that began, continued or ended it, in order.
    """

    id: str
    calls: Sequence[BackgroundCall]

    @property
    def last(self) -> BackgroundCall | None:
        """The call that returned the cell's result; `None` if none has."""
        return self.calls[-1] if self.calls[-1].ended == ENDED else None

    @property
    def before(self) -> Sequence[BackgroundCall]:
        """The calls before the one that returned the cell's result."""
        return self.calls if self.last is None else self.calls[:-1]

    @property
    def terminated(self) -> bool:
        """Whether a call ended the cell before it had a result."""
        return self.calls[-1].ended == TERMINATED

    def unseen(self, outcome: Outcome) -> Outcome:
        """The outcome of the cell without the output that the model had seen before."""
        record = next(call.record for call in reversed(self.calls) if call.ended is None)
        seen = SeenOutput(
            int(record["chars"]), str(record["digest"]), int(record.get("attached", 0))
        )
        return unseen(outcome, seen)


@attrs.frozen
class RecordedCells:
    """The cells of one interpreter in a thread.

    Attributes:
        cells: By the graph, the checkpoint and the name of the call that began each.
        tools: Names of the tools that continued or ended cells.
    """

    cells: Mapping[tuple[str, str, str], SuspendedCell]
    tools: frozenset[str]

    @classmethod
    def of(cls, steps: Iterable[RecordedStep], channels: Channels) -> RecordedCells:
        """The cells in the steps of a thread, which are in order."""
        calls: dict[str, list[BackgroundCall]] = {}
        for step in steps:
            for cell, call in _background_calls(step, channels):
                known = calls.setdefault(cell, [])
                if not known or known[-1].ended is None:
                    known.append(call)
        cells: dict[tuple[str, str, str], SuspendedCell] = {}
        for cell, known in calls.items():
            first = known[0].record
            if "ended" not in first:  # else the checkpoint that began the cell was deleted
                place = (str(first["graph"]), str(first["checkpoint"]), str(first["name"]))
                cells[place] = SuspendedCell(id=cell, calls=known)
        tools = {call.tool for known in calls.values() for call in known[1:]}
        return cls(cells, frozenset(tools))

    def of_call(self, step: RecordedStep, name: str) -> SuspendedCell | None:
        """The cell that a call of the model began."""
        return self.cells.get((step.graph, step.checkpoint, name))


def _background_calls(
    step: RecordedStep, channels: Channels
) -> Iterable[tuple[str, BackgroundCall]]:
    for name, call in step.calls.items():
        writes = channels.known(step.tasks.get(name, ()))
        for channel, update in writes:
            if channel != CELLS or name not in step.answers:
                continue
            for cell, record in update.items():
                made = BackgroundCall(
                    tool=str(call["name"]),
                    answer=step.answers[name].text,
                    record=record,
                    writes=writes,
                )
                yield str(cell), made
