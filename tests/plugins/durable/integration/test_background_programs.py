"""Random programs in the background: time slices, approvals, crashes and terminations in any order.

Each call has its effect when it ends. A program that ends has had each effect once, and a call is
begun again only if the process died while it ran, or in the moment between its end and its record.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import attrs
import pytest

from interpstack import Bridge, HostOffer, InterpreterStack
from interpstack_durable.api import BackgroundCells, CellAnswer, MemoryJournalStore


class Asks(Exception):
    """A call waits for a decision."""


@attrs.define(eq=False)
class World:
    """What happened outside, over all processes.

    Attributes:
        begun: How often each call was begun.
        effects: How often each call had its effect.
        lost: Calls that were in flight when a process died.
        unrecorded: Those whose effect had just happened.
        asked: Calls for which an approval was asked.
        approved: Calls that may be made.
    """

    chance: random.Random
    begun: Counter[int] = attrs.field(factory=Counter)
    effects: Counter[int] = attrs.field(factory=Counter)
    running: set[int] = attrs.field(factory=set)
    lost: Counter[int] = attrs.field(factory=Counter)
    unrecorded: Counter[int] = attrs.field(factory=Counter)
    asked: set[int] = attrs.field(factory=set)
    approved: set[int] = attrs.field(factory=set)

    async def free(self, n: int) -> int:
        self.begun[n] += 1
        self.running.add(n)
        try:
            await asyncio.sleep(self.chance.choice([0, 0, 0.002, 0.01, 0.03]))
            self.effects[n] += 1
        finally:
            self.running.discard(n)
        return n

    async def gated(self, n: int) -> int:
        if n not in self.approved:
            self.asked.add(n)
            raise Asks
        return await self.free(n)

    def die(self, store: MemoryJournalStore) -> None:
        """Note the calls that the process does not know the end of."""
        entries = store._entries.values()
        settled = [
            one
            for entry in entries
            for one in (*entry.get("settled", ()), *entry.get("kept", {}).get("settled", ()))
        ]
        recorded = {int(text) for _, text, error, _ in settled if error is None and text.isdigit()}
        self.lost |= {n: count for n, count in self.begun.items() if n not in recorded}
        self.unrecorded |= {n: count for n, count in self.effects.items() if n not in recorded}

    def bridges(self) -> list[Bridge]:
        return [
            Bridge(name="kit.free", handler=self.free),
            Bridge(name="kit.gated", handler=self.gated, passes=(Asks,)),
        ]


@attrs.define(eq=False)
class Process:
    """A process that runs the program's cell."""

    world: World
    store: MemoryJournalStore
    engine: str
    code: str
    stack: Any = None
    cells: Any = None
    _session: Any = None

    async def start(self) -> None:
        self.stack = InterpreterStack(
            self.engine, ["console", "durable"], bridges=self.world.bridges()
        )
        self._session = self.stack.session()
        self.cells = BackgroundCells(self._session, lambda cell: self.store)
        self._session.bind(HostOffer(parts=[self.cells.journals]))
        self.cells.adopt("1", self.code)

    async def die(self) -> None:
        """End without a record: calls in flight are lost, as far as anybody knows."""
        cell = self.cells._cell
        if cell is not None:
            await cell.stop_recording()
            if cell.calls is not None:
                await cell.calls.stop()
            self.world.die(self.store)  # a call may have had its effect before it was stopped
        await self._session.aclose()
        await self.stack.aclose()


def program(chance: random.Random, python: bool) -> tuple[str, int]:
    """Code that calls functions one after another and side by side, and the number of calls."""
    lines, count = [], 0
    for _ in range(chance.randint(1, 4)):
        width = chance.choice([1, 1, 2, 3])
        calls = []
        for _ in range(width):
            count += 1
            name = chance.choice(["free", "free", "gated"])
            calls.append(f"kit.{name}(n={count})" if python else f"kit.{name}({{n: {count}}})")
        joined = ", ".join(calls)
        if python:
            lines.append("import asyncio" if not lines else "")
            lines.append(f"found = await asyncio.gather({joined})\ntotal += sum(found)")
        else:
            lines.append(f"for (const n of await Promise.all([{joined}])) total += n")
    first, last = ("total = 0", "total") if python else ("let total = 0", "total")
    return "\n".join([first, *lines, last]), count


async def play(seed: int, engine: str) -> None:
    chance = random.Random(seed)
    code, count = program(chance, engine == "monty")
    world = World(chance)
    process = Process(world, MemoryJournalStore(f"program {seed}", pause_grace=0.005), engine, code)
    await process.start()
    answer: CellAnswer | None = None
    for _ in range(200):
        event = chance.choice(["time slice"] * 8 + ["sleep", "die", "end"])
        if event == "sleep":
            await asyncio.sleep(0.01)
        elif event == "die":
            await process.die()
            await process.start()
        elif event == "end" and chance.random() < 0.1:
            await process.cells.terminate("1")
            break
        else:
            try:
                answer = await process.cells.wait("1", chance.choice([0, 0.001, 0.005, 0.02, 1]))
            except Asks:
                world.approved |= world.asked
                continue
            assert answer.missing == ""
            if answer.outcome is not None:
                break
    await process.die()
    assert not world.running
    check(world, answer, count, f"seed {seed}:\n{code}")


def check(world: World, answer: CellAnswer | None, count: int, about: str) -> None:
    numbers = range(1, count + 1)
    for n in numbers:
        assert world.effects[n] <= 1 + world.unrecorded[n], (
            f"call {n} had its effect twice, {about}"
        )
        assert world.begun[n] <= 1 + world.lost[n], f"call {n} was begun too often, {about}"
    assert world.approved >= {n for n in world.asked if world.begun[n]}
    if answer is not None and answer.outcome is not None:
        assert answer.outcome.text == str(sum(numbers)), about
        assert all(world.effects[n] >= 1 for n in numbers), about
    # Answers are recorded at once, so hardly a call is in that window.
    assert sum(world.unrecorded.values()) <= 2, about


@pytest.mark.parametrize("engine", ["quickjs", "monty", "v8"])
@pytest.mark.parametrize("start", range(0, 40, 20))
async def test_no_effect_is_repeated_and_none_is_lost(engine: str, start: int) -> None:
    for seed in range(start, start + 20):
        await play(seed, engine)
