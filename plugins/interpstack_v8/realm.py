"""A realm of V8: the protocol's methods, over the heap that holds the variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from interpstack import BridgeSet, Cell, Execution, Limits
from interpstack_javascript.exchange import MEMBER_SECONDS, read_answer
from interpstack_javascript.kept_realms.keepable_realm import KeepableRealm
from interpstack_javascript.kept_realms.kept_realms import KeptRealms
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.execution import V8Execution
from interpstack_v8.heap import RealmHeap

__all__ = ["V8Realm"]


class V8Realm(KeepableRealm):
    """One guest global scope.

    Args:
        limits: Limits of a cell.
        bridges: The bridges on offer.
        kept: Where the engine keeps realms of cells that wait.
        give_up_seconds: As of the engine.
    """

    starts_at_once: ClassVar[bool] = True

    def __init__(
        self,
        limits: Limits,
        bridges: BridgeSet,
        kept: KeptRealms[V8Realm],
        give_up_seconds: float | None,
    ) -> None:
        super().__init__(kept)
        self.modules = ModuleTable()
        self.heap = RealmHeap(limits, bridges, self.modules, give_up_seconds)

    def bind(self, bridges: BridgeSet) -> None:
        self.heap.bind(bridges)

    def start(self, cell: Cell) -> Execution:
        self._execution = V8Execution(self.heap, self.modules, cell)
        return self._execution

    def values(self) -> Mapping[str, Any]:
        return self.heap.fresh_values()

    def names(self) -> Sequence[str]:
        names: Sequence[str] = read_answer(self.heap.say("names"))
        return names

    def members(self, path: Sequence[str]) -> Sequence[str]:
        text = self.heap.say("members", list(path), seconds=MEMBER_SECONDS)
        names: Sequence[str] = read_answer(text)
        return names

    def load(self, values: Mapping[str, Any]) -> None:
        self.heap.load(values)

    def discard(self) -> None:
        self.heap.close()

    def _lend(self, *, kept: bool) -> None:
        self.heap.lend(kept=kept)
