"""Decisions on cells in the background, each taken once under the cell's lock.

The state of a graph shows a decision only to later steps. So a decision is stored beside the cell's
journal, too, where other calls of the same message and other agents find it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from interpstack.values import from_storable
from interpstack_langchain.durability.checkpoint_writes import JOURNAL_CHANNEL, task_of

__all__ = ["ENDED", "TERMINATED", "CellOver", "Fate", "Fates"]

ENDED: Final = "it has ended, and its result was returned"
TERMINATED: Final = "it was terminated"
#: Name of the decision, and of the demand to end a cell that another run may hold.
_DECIDED: Final = "decided"
_ASKED: Final = "asked"
#: Cells whose decisions are kept in memory.
_MAX_KEPT: Final = 1024


class CellOver(Exception):
    """Raised when a cell is to be continued that has ended or was terminated.

    Attributes:
        why: What happened to it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@attrs.frozen
class Fate:
    """The decision on a cell.

    Attributes:
        why: What happened to the cell.
        step: The step in which that happened.
        call: The call of the model that decided.
    """

    why: str
    step: str
    call: str

    def ends(self, other: Fate) -> bool:
        """Whether a call with another decision may no longer continue the cell.

        A cell that ended in another step is replayed: that step may be in another branch of the
        conversation, or its answer may be lost.
        """
        if self.why == TERMINATED:
            return True
        return self.step == other.step and self.call != other.call


class Fates:
    """Decisions in memory, for checkpoints that are stored only at the end of a run."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Fate] = OrderedDict()

    def _keep(self, key: str, name: str, fate: Fate) -> tuple[str, dict[str, Any]]:
        """Note one in memory; the first counts."""
        self._kept.setdefault((key, name), fate)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return task_of(key, name), {name: attrs.asdict(fate), "cell": key}

    def of(self, key: str, writes: Iterable[tuple[str, str, Any]]) -> Fate | None:
        """The decision on a cell; a demand to end it counts as one while there is no other."""
        found = {task: value for task, channel, value in writes if channel == JOURNAL_CHANNEL}
        for name in (_DECIDED, _ASKED):
            stored: Mapping[str, Any] | None = from_storable(found.get(task_of(key, name)))
            if stored is not None:
                return Fate(**stored[name])
            if (key, name) in self._kept:
                return self._kept[key, name]
        return None

    def decide(self, key: str, fate: Fate) -> tuple[str, dict[str, Any]]:
        """Note the decision on a cell; returns the task that writes it, and its form."""
        return self._keep(key, _DECIDED, fate)

    def ask(self, key: str, fate: Fate) -> tuple[str, dict[str, Any]]:
        """Note the demand to end a cell; returns the task that writes it, and its form."""
        return self._keep(key, _ASKED, fate)
