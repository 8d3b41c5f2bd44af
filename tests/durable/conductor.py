"""Runs programs in which calls end in an order that depends on chance alone.

Uninterrupted and interrupted runs of a program can only be compared if their calls end in the
same order. So no call ends by itself: when the guest is idle, the conductor picks from those that
run, by a chance that depends on their ids and on how often it picked before.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from interpstack import (
    Bridge,
    BridgeRegistry,
    BridgeSet,
    CellContext,
    Engine,
    Execution,
    HostOffer,
    Limits,
    Progress,
    Realm,
    Request,
    Settlement,
    hookimpl,
)
from interpstack_durable.api import Journal, MemoryJournalStore, journal_of

__all__ = ["Conducted", "Conductor", "Crash", "Interrupted", "Store", "watched"]


class Interrupted(Exception):
    """A gated call waits for a decision."""


class Crash(Exception):
    """The process died, as far as the test is concerned."""


@attrs.define(eq=False)
class Store(MemoryJournalStore):
    """A journal store that can lose the process before or after it has kept an entry.

    Attributes:
        crashes: Which appends crash: by number, whether the entry was kept.
        suspends: Whether paused runs are kept in the middle.
        lost: The process is lost: nothing more is done in it.
    """

    key: str = "cell"
    pause_grace: float = 60.0
    suspends: bool = False
    crashes: Mapping[int, bool] = attrs.field(factory=dict)
    lost: bool = False
    appends: int = 0

    async def append(self, index: int, entry: Any) -> None:
        self.appends += 1
        kept = self.crashes.get(self.appends)
        if kept is not False:
            assert index == len(self._entries)
            await super().append(index, entry)
        if kept is not None:
            self.lost = True
            raise Crash

    async def take_answers(self, journal: Journal) -> None:
        asked = journal.noted("asked")
        if asked and asked != journal.noted("granted"):
            await journal.note({"granted": asked})

    async def pause(
        self,
        journal: Journal,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
    ) -> BaseException:
        assert not running, "the conductor ends all calls"
        asked = [*(journal.noted("asked") or []), *(request.id for request, _ in paused)]
        await journal.note({"asked": asked})
        return paused[0][1]


@attrs.define(eq=False)
class Conductor:
    """Ends calls, one pick at a time.

    Attributes:
        seed: Of the order in which calls end.
        pauses: Whether gated calls interrupt the run, instead of being decided at once.
        effects: What calls did, by their key, in order.
        repeated: Keys of calls that had their effect before.
        watch: Tells when the guest is idle.
    """

    seed: int
    pauses: bool
    effects: dict[str, int] = attrs.field(factory=dict)
    repeated: list[str] = attrs.field(factory=list)
    watch: Watch = attrs.field(factory=lambda: Watch())
    _running: dict[int, asyncio.Future[None]] = attrs.field(factory=dict, init=False)
    _waiting: dict[int, asyncio.Future[None]] = attrs.field(factory=dict, init=False)
    _paused: bool = attrs.field(default=False, init=False)

    def bridges(self) -> list[Bridge]:
        """The functions `kit.free` and `kit.gated`."""
        return [
            Bridge(name="kit.free", handler=self._free),
            Bridge(name="kit.gated", handler=self._gated, passes=(Interrupted,)),
        ]

    async def _free(self, value: int, context: CellContext) -> int:
        return await self._make(value, context, self._running)

    async def _gated(self, value: int, context: CellContext) -> int:
        journal = journal_of(context)
        granted = None if journal is None else journal.noted("granted")
        if granted and context.request_id in granted:
            return await self._make(value, context, self._running)
        if self.pauses:
            self._paused = True
            raise Interrupted
        return await self._make(value, context, self._waiting)

    async def _make(self, value: int, context: CellContext, among: dict[int, Any]) -> int:
        among[context.request_id] = asyncio.get_running_loop().create_future()
        await among[context.request_id]
        if context.call_key in self.effects:
            self.repeated.append(context.call_key)
        self.effects[context.call_key] = value
        if value % 4 == 3:
            raise ValueError(f"no {value}")
        return value * 10

    def forget_calls(self) -> None:
        """Begin with another process."""
        self._running, self._waiting, self._paused = {}, {}, False

    def pick(self) -> bool:
        """End some of the calls that run; False if there are none.

        When a gated call wants a decision all others are ended first, for so a pause does it; in
        a pause one after the other, so that each is kept alone.
        """
        ids = sorted(self._running)
        if not ids and not self._waiting:
            return False
        chance = random.Random(f"{self.seed}:{ids}")
        chosen = ids[:1] if self._paused else ids
        if not (self._waiting or self._paused):
            chosen = chance.sample(ids, chance.randint(1, min(2, len(ids))))
        for number in chosen:
            self._running.pop(number).set_result(None)
        self._running |= self._waiting
        self._waiting = {}
        return bool(chosen)

    async def conduct(self, run: asyncio.Task[Any], store: Store) -> None:
        """Pick whenever the guest is idle, until the run has ended or its process is lost."""
        watch = self.watch
        seen = watch.polls
        while not (run.done() or store.lost):
            await asyncio.sleep(0.0002)
            polls = watch.polls
            if watch.busy or (polls == seen and not self._paused):
                continue
            for _ in range(40):  # what the guest asked for is started
                await asyncio.sleep(0)
            if not (watch.busy or store.lost) and polls == watch.polls and self.pick():
                seen = polls


class Watch(Execution):
    """Tells whether the guest runs, and how often it did.

    It watches one execution after another, and counts on. A guest counts as running until the event
    loop has what it asked for: its thread may end much earlier, on a busy machine.
    """

    polls = 0
    busy = False

    def __init__(self) -> None:
        self._execution: Execution | None = None

    def over(self, execution: Execution) -> Watch:
        """Watch another execution."""
        self._execution = execution
        return self

    async def apoll(self, *args: Any, **options: Any) -> Progress:
        self.busy = True
        try:
            return await super().apoll(*args, **options)
        finally:
            self.busy = False
            self.polls += 1

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        return self._inner.poll(now, cpu_seconds)

    def settle(self, settlements: Sequence[Settlement]) -> None:
        self._inner.settle(settlements)

    def abort(self, reason: str) -> Progress:
        return self._inner.abort(reason)

    def undo(self) -> None:
        self._inner.undo()

    def interrupt(self) -> None:
        self._inner.interrupt()

    @property
    def _inner(self) -> Execution:
        assert self._execution is not None
        return self._execution


def watched(engine: Engine) -> None:
    """Let all cells of an engine be watched, each by the conductor of its bridges."""
    open_realm = engine.open

    def opening(limits: Limits, bridges: BridgeSet, *image: Any) -> Realm:
        realm = open_realm(limits, bridges, *image)
        kind, watch = type(realm), _conductor(bridges).watch
        # Not the methods of the realm: one that was kept is watched already.
        realm.start = lambda cell: watch.over(kind.start(realm, cell))  # type: ignore[method-assign]
        realm.resume = lambda *before: watch.over(kind.resume(realm, *before))  # type: ignore[method-assign]
        return realm

    engine.open = opening  # type: ignore[method-assign,assignment]


def _conductor(bridges: BridgeSet) -> Conductor:
    found: Conductor = next(b.handler.__self__ for b in bridges if b.name == "kit.free")  # type: ignore[attr-defined]
    return found


class Conducted:
    """The plugin that offers a conductor's functions, which the offer names."""

    name = "conducted"

    @hookimpl
    def interpstack_register_bridges(self, register: BridgeRegistry, offer: HostOffer) -> None:
        for bridge in offer.part(Conductor).bridges():
            register.bridge(bridge)
