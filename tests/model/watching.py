"""What all simulated worlds have: a trace, and guests whose answers are noted in it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import attrs
from tests.model.loop import HOST, Host, SimLoop
from tests.model.protocol import Event

from interpstack import Cell, Execution, Request, Settlement
from interpstack_testing import FakeEngine

__all__ = ["SeenEngine", "World", "digest_of"]


def digest_of(value: Any) -> str:
    """A short digest of plain JSON."""
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=4).hexdigest()


@attrs.define(eq=False, kw_only=True)
class World:
    """What happens in one simulation.

    Attributes:
        chance: Decides what the plan leaves open.
        run: The name of the run.
        trace: What happened.
        began: Whether the code has ever begun.
        loop: The loop.
    """

    chance: random.Random
    run: str
    trace: list[Event] = attrs.field(factory=list, init=False)
    began: bool = attrs.field(default=False, init=False)
    loop: SimLoop = attrs.field(init=False)

    @property
    def budgets(self) -> dict[str, int]:
        """See `Model`."""
        return {}

    def note(self, kind: str, **data: Any) -> None:
        """Add an event to the trace."""
        if self.loop.is_over:
            return  # clean-up code of processes that have died
        host = HOST.get()
        life = "" if host is None else str(host)
        self.trace.append(Event(kind, self.run, life, data, self.loop.now))

    def died(self, host: Host) -> None:
        """Note that a process has died."""
        self.trace.append(Event("die", "", str(host), {}, self.loop.now))

    def odd(self, share: float) -> bool:
        """True in this share of cases."""
        return self.chance.random() < share

    def key(self, seed: int, number: int) -> str:
        """A short name for a call, which still differs between evals."""
        return f"{seed % 997}:{number}"

    def requested(self, seed: int, requests: Sequence[Request]) -> None:
        """Note the requests of a guest."""


class SeenExecution(Execution):
    """An execution whose answers are noted in the trace."""

    def __init__(self, inner: Execution, seed: int, world: World) -> None:
        self._inner, self._seed, self._world = inner, seed, world

    def poll(self, now: float, cpu_seconds: float | None) -> Any:
        progress = self._inner.poll(now, cpu_seconds)
        self._world.requested(self._seed, progress.requests)
        return progress

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for one in settlements:
            said = digest_of([json.loads(one.text), one.error and one.error.message])
            self._world.note("deliver", key=self._world.key(self._seed, one.id), digest=said)
        self._inner.settle(settlements)

    def abort(self, reason: str) -> Any:
        return self._inner.abort(reason)

    def undo(self) -> None:
        self._inner.undo()

    def interrupt(self) -> None:
        self._inner.interrupt()

    def listen(self, hear: Any) -> None:
        self._inner.listen(hear)


class SeenEngine(FakeEngine):
    """The fake engine, whose guests are watched by a world."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def open(self, *given: Any) -> Any:
        realm, world = super().open(*given), self._world
        start = realm.start

        def starting(cell: Cell) -> Execution:
            world.note("resume" if world.began else "begin")
            world.began = True
            return SeenExecution(start(cell), cell.seed, world)

        realm.start = starting  # type: ignore[method-assign]
        return realm
