"""A cell that has not ended: its looks, and the calls in flight between them."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

from interpstack import Outcome, Request
from interpstack_durable.api import MemoryJournalStore, StillRunning
from interpstack_durable.background.running_cell import RunningCell


@attrs.define(eq=False)
class Calls:
    """Calls in flight that never end by themselves."""

    keys: tuple[str, ...] = ("call",)
    running: tuple[Request, ...] = ()
    landing: int = 0
    stopped: int = 0

    async def land(self) -> None:
        self.landing += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.landing -= 1

    async def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def cell() -> RunningCell:
    return RunningCell("1", "code", MemoryJournalStore("cell"))


async def _looked(cell: RunningCell, end: Any, calls: Any = None) -> Any:
    """A look that ends with an outcome or an exception."""

    async def run() -> Outcome:
        if calls is not None and cell.look is not None:
            cell.look.leave(calls)
        if isinstance(end, Outcome):
            return end
        raise end

    cell.begin(1, run)
    ended = await cell.ended()
    await asyncio.sleep(0)  # the landing begins
    return ended


async def test_a_cell_that_was_put_aside_has_its_answers_recorded(cell: RunningCell) -> None:
    still, calls = StillRunning(("a call",)), Calls()
    assert await _looked(cell, still, calls) is still
    assert (cell.look, calls.landing) == (None, 1)
    await cell.stop_landing()
    assert (calls.landing, calls.stopped) == (0, 0)


async def test_a_cell_that_ended_has_no_calls(cell: RunningCell) -> None:
    await _looked(cell, StillRunning(()), Calls())
    await cell.stop_landing()
    outcome = Outcome(text="1")
    assert await _looked(cell, outcome) is outcome
    assert cell.calls is None


async def test_calls_that_a_look_could_not_take_can_be_stopped(cell: RunningCell) -> None:
    calls = Calls()
    await _looked(cell, StillRunning(()), calls)
    await cell.stop_landing()
    with pytest.raises(ValueError, match="of the host"):
        await _looked(cell, ValueError("of the host"))
    assert calls.landing == 0, "the journal has another writer since"
    await cell.stop_calls()
    await cell.stop_calls()
    assert calls.stopped == 1


async def test_nobody_waits_for_a_cell_without_a_look(cell: RunningCell) -> None:
    with pytest.raises(RuntimeError, match="no caller waits for cell 1"):
        await cell.ended()


async def test_a_cancelled_look_is_cut_and_ends_first(cell: RunningCell) -> None:
    look: Any = None

    async def run() -> Outcome:
        nonlocal look
        look = cell.look
        await asyncio.sleep(0.02)
        raise StillRunning(())

    cell.begin(1000, run)
    waiting = asyncio.ensure_future(cell.ended())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert look.left == 0
    assert cell.run is not None
    assert cell.run.done()
