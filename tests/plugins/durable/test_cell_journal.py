"""The journal of one cell over a store: what is recorded is replayed, and other code diverges."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import attrs
import pytest
from journal_stores import Ordered

from interpstack import Cell, GuestError, Request, Settlement, Step
from interpstack_durable.api import ReplayDivergence, UnreadableJournal
from interpstack_durable.cell_journal import CellJournal

CELL = Cell(source="await kit.f()", seed=1)
ASKED = [Request(1, "kit.f", {"n": 1})]
STEP = Step(101.0, (Settlement(1, "5"),))


@attrs.define(eq=False)
class Store(Ordered):
    resumed: int = 0

    async def append(self, index: int, entry: Any) -> None:
        await super().append(index, dict(entry))

    async def take_answers(self, journal: Any) -> None:
        self.resumed += 1

    async def pause(self, journal: Any, paused: Any, running: Any) -> BaseException:
        await journal.note({"pauses": 1})
        return KeyError("paused")


@pytest.fixture
def store() -> Store:
    return Store()


async def _begun(store: Store, cell: Cell = CELL) -> tuple[CellJournal, float]:
    journal = CellJournal(store, cell)
    return journal, await journal.begin(100.0)


async def test_a_step_is_replayed_and_then_there_is_no_more(store: Store) -> None:
    first, began = await _begun(store)
    assert (began, first.replay([])) == (100.0, None)
    await first.resume()
    await first.record(ASKED, STEP)
    again, began = await _begun(store)
    assert began == 100.0
    assert again.replay(ASKED) == STEP
    assert again.replay([]) is None


@pytest.mark.parametrize(
    "asked", [[], [Request(1, "kit.g", {"n": 1})], [Request(1, "kit.f", {"n": 2})], ASKED * 2]
)
async def test_code_that_asks_for_something_else_diverges(store: Store, asked: Any) -> None:
    first, _ = await _begun(store)
    await first.resume()
    await first.record(ASKED, STEP)
    again, _ = await _begun(store)
    with pytest.raises(ReplayDivergence, match=r"at step 1 the code asks for .*; nothing was done"):
        again.replay(asked)


async def test_other_code_diverges_before_it_runs(store: Store) -> None:
    first, _ = await _begun(store)
    await first.resume()
    await first.record(ASKED, STEP)
    with pytest.raises(ReplayDivergence, match="of different code"):
        await _begun(store, Cell(source="2"))


async def test_a_pause_and_the_step_before_it_are_one_entry(store: Store) -> None:
    journal, _ = await _begun(store)
    await journal.resume()
    before = len(store.entries)
    error = await journal.pause(ASKED, STEP, [])
    assert isinstance(error, KeyError)
    assert len(store.entries) == before + 1
    assert {"asked", "settled", "notes"} <= store.entries[-1].keys()
    assert journal.noted("pauses") == 1
    again, _ = await _begun(store)
    assert (again.replay(ASKED), again.noted("pauses")) == (STEP, 1)


async def test_the_last_computing_is_recorded_with_what_it_asked_for(store: Store) -> None:
    journal, _ = await _begun(store)
    await journal.record(ASKED, STEP)
    journal.computed((1.0, 2.0))
    journal.computed((3.0, 4.0))
    await journal.record([], STEP)
    await journal.keep(None, STEP)
    journal.computed((5.0, 6.0))
    await journal.keep(ASKED, STEP)
    await journal.pause(ASKED, STEP, [])
    times = [entry.get("kept", entry).get("computed") for entry in store.entries]
    assert times == [None, [3.0, 4.0], None, [5.0, 6.0], [5.0, 6.0]]


def _damaged(value: Any, chance: random.Random) -> Any:
    """The value with one part of it changed, left out, or of another kind."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        if chance.random() < 0.2:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: _damaged(value[key], chance)}
    if isinstance(value, (list, tuple)) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], _damaged(value[at], chance), *value[at + 1 :]]
    return chance.choice([None, 7, -1.5, "x", [], {}, [[]], {"$": 1}, True, float("nan")])


@pytest.mark.parametrize("seed", range(300))
async def test_a_damaged_journal_is_refused_before_anything_is_done(
    store: Store, seed: int
) -> None:
    failed = GuestError("ToolError", "no", data={"tool": "kit.f"})
    first, _ = await _begun(store)
    await first.resume()
    first.computed((100.0, 100.5))
    await first.record(ASKED, attrs.evolve(STEP, drawn={"requests": 1.0}))
    await first.record(ASKED, Step(102.0, (Settlement(1, error=failed, refused=True),)))
    await first.note({"pauses": 1})
    await first.keep(ASKED, STEP)
    chance = random.Random(seed)
    at = chance.randrange(len(store.entries))
    entries = store.entries
    entries[at] = _damaged(entries[at], chance)
    store.entries = entries
    journal = CellJournal(store, CELL)
    try:
        await journal.begin(100.0)
    except (UnreadableJournal, ReplayDivergence):
        return
    with suppress(ReplayDivergence):
        while journal.replay(ASKED) is not None:
            pass
        journal.undelivered(ASKED)
