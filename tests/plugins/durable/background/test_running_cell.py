"""A cell that has not ended: its time slices, and the calls in flight between them."""

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
    recording: int = 0
    stopped: int = 0

    async def record_late_results(self) -> None:
        self.recording += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.recording -= 1

    async def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def cell() -> RunningCell:
    return RunningCell("1", "code", MemoryJournalStore("cell"))


async def _time_slice(cell: RunningCell, end: Any, calls: Any = None) -> Any:
    """A time slice that ends with an outcome or an exception."""

    async def run() -> Outcome:
        if calls is not None and cell.time_slice is not None:
            cell.time_slice.leave(calls)
        if isinstance(end, Outcome):
            return end
        raise end

    cell.begin(1, run)
    ended = await cell.ended()
    await asyncio.sleep(0)  # the recording begins
    return ended


async def test_the_late_results_of_a_suspended_cell_are_recorded(cell: RunningCell) -> None:
    still, calls = StillRunning(("a call",)), Calls()
    assert await _time_slice(cell, still, calls) is still
    assert (cell.time_slice, calls.recording) == (None, 1)
    await cell.stop_recording()
    assert (calls.recording, calls.stopped) == (0, 0)


async def test_a_cell_that_ended_has_no_calls(cell: RunningCell) -> None:
    await _time_slice(cell, StillRunning(()), Calls())
    await cell.stop_recording()
    outcome = Outcome(text="1")
    assert await _time_slice(cell, outcome) is outcome
    assert cell.calls is None


async def test_calls_that_a_time_slice_could_not_take_can_be_stopped(cell: RunningCell) -> None:
    calls = Calls()
    await _time_slice(cell, StillRunning(()), calls)
    await cell.stop_recording()
    with pytest.raises(ValueError, match="of the host"):
        await _time_slice(cell, ValueError("of the host"))
    assert calls.recording == 0, "the journal has another writer since"
    await cell.stop_calls()
    await cell.stop_calls()
    assert calls.stopped == 1


async def test_no_caller_waits_for_a_cell_without_a_time_slice(cell: RunningCell) -> None:
    with pytest.raises(RuntimeError, match="no caller waits for cell 1"):
        await cell.ended()


async def test_a_cancelled_time_slice_is_cut_and_ends_first(cell: RunningCell) -> None:
    time_slice: Any = None

    async def run() -> Outcome:
        nonlocal time_slice
        time_slice = cell.time_slice
        await asyncio.sleep(0.02)
        raise StillRunning(())

    cell.begin(1000, run)
    waiting = asyncio.ensure_future(cell.ended())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time_slice.left == 0
    assert cell.run is not None
    assert cell.run.done()
