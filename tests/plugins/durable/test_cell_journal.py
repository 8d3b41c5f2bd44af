"""The journal of one cell over a store: what is recorded is replayed, and other code diverges."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from interpstack import Cell, Request, Settlement, Step
from interpstack_durable.api import ReplayDivergence
from interpstack_durable.cell_journal import CellJournal

CELL = Cell(source="await kit.f()", seed=1)
ASKED = [Request(1, "kit.f", {"n": 1})]
STEP = Step(101.0, (Settlement(1, "5"),))


@attrs.define
class Store:
    key: str = "cell"
    suspends: bool = False
    pause_grace: float = 5.0
    entries: list[Any] = attrs.field(factory=list)
    resumed: int = 0

    async def load(self) -> list[Any]:
        return list(self.entries)

    async def append(self, index: int, entry: Any) -> None:
        assert index == len(self.entries)
        self.entries.append(dict(entry))

    async def append_spent(self, record: Any) -> None: ...

    def spent(self) -> list[Any]:
        return []

    async def resume(self, journal: Any) -> None:
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
    with pytest.raises(ReplayDivergence, match="of other code"):
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
