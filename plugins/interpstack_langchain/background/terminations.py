"""Terminations of cells in the background, each decided once under the cell's lock.

The state of a graph shows a termination only to later steps. So it is stored beside the cell's
journal, too, where other calls of the same message and other agents find it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from interpstack.values import from_storable
from interpstack_langchain.durability.checkpoint_writes import JOURNAL_CHANNEL, task_of

__all__ = ["ENDED", "TERMINATED", "CellOver", "Termination", "Terminations"]

ENDED: Final = "it has ended, and its result was returned"
TERMINATED: Final = "it was terminated"
#: Names of the decision, and of the request to end a cell whose lock another run may hold.
_DECIDED: Final = "decided"
_ASKED: Final = "asked"
#: Cells whose terminations stay in memory.
_MAX_CELLS: Final = 1024


class CellOver(Exception):
    """Raised when a call tries to continue a cell that has ended or was terminated.

    Attributes:
        why: What happened to it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@attrs.frozen
class Termination:
    """The end of a cell, by itself or by the model.

    Attributes:
        why: How the cell ended.
        step: The step in which it ended.
        call: The call of the model that ended it.
    """

    why: str
    step: str
    call: str

    def ends(self, other: Termination) -> bool:
        """Whether a call that would end the cell as `other` may no longer continue it.

        A cell that ended in another step is replayed: that step may be in another branch of the
        conversation, or its answer may be lost.
        """
        if self.why == TERMINATED:
            return True
        return self.step == other.step and self.call != other.call


class Terminations:
    """Terminations in memory, for checkpoints that are stored only at the end of a run."""

    def __init__(self) -> None:
        self._in_memory: OrderedDict[tuple[str, str], Termination] = OrderedDict()

    def _note(self, key: str, name: str, termination: Termination) -> tuple[str, dict[str, Any]]:
        """Note a termination in memory; the first one counts."""
        self._in_memory.setdefault((key, name), termination)
        while len(self._in_memory) > _MAX_CELLS:
            self._in_memory.popitem(last=False)
        return task_of(key, name), {name: attrs.asdict(termination), "cell": key}

    def of(self, key: str, writes: Iterable[tuple[str, str, Any]]) -> Termination | None:
        """The termination of a cell; without a decision, the request to end the cell counts."""
        found = {task: value for task, channel, value in writes if channel == JOURNAL_CHANNEL}
        for name in (_DECIDED, _ASKED):
            stored: Mapping[str, Any] | None = from_storable(found.get(task_of(key, name)))
            if stored is not None:
                return Termination(**stored[name])
            if (key, name) in self._in_memory:
                return self._in_memory[key, name]
        return None

    def decide(self, key: str, termination: Termination) -> tuple[str, dict[str, Any]]:
        """Note the decision to end a cell; return the task that writes it, and its form."""
        return self._note(key, _DECIDED, termination)

    def ask(self, key: str, termination: Termination) -> tuple[str, dict[str, Any]]:
        """Note the request to end a cell; return the task that writes it, and its form."""
        return self._note(key, _ASKED, termination)
