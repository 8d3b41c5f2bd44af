"""Sessions that wait for worker processes hold no guest thread."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from interpstack import InterpreterStack, Limits, threads

SESSIONS = 50
ENDLESS = "while (true) {}"


@pytest.fixture
def two_guest_threads(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pool of guest threads with two threads, which counts what is given to it."""
    pool = ThreadPoolExecutor(2)
    monkeypatch.setitem(threads._pools, "guests", pool)
    yield pool
    pool.shutdown()


async def test_fifty_sessions_wait_without_a_guest_thread(
    two_guest_threads: ThreadPoolExecutor,
) -> None:
    limits = Limits(cpu_seconds=None, wall_seconds=None)
    async with (
        InterpreterStack(
            "process:quickjs", limits=limits, options={"workers": 1}, max_live_sessions=SESSIONS
        ) as stack,
        InterpreterStack("quickjs") as other,
    ):
        sessions = [stack.session(f"s{number}") for number in range(SESSIONS)]
        assert (await sessions[0].eval("var kept = 7")).ok
        cells = [asyncio.ensure_future(session.eval(ENDLESS)) for session in sessions]
        async with other.session() as here:
            assert (await here.eval("6 * 7")).text == "42"
        assert not any(cell.done() for cell in cells)
        for cell in cells:
            cell.cancel()
        ends = await asyncio.gather(*cells, return_exceptions=True)
        assert {type(end) for end in ends} == {asyncio.CancelledError}
        assert (await sessions[0].eval("kept")).text == "7"


async def _computing(stack: InterpreterStack, session: Any) -> asyncio.Task[Any]:
    """A cell that computes in the worker until it is cancelled."""
    assert (await session.eval("1")).ok  # the worker does nothing else for it from here on
    cell = asyncio.ensure_future(session.eval(ENDLESS))
    pool: Any = stack.engine.pool  # type: ignore[attr-defined]
    while not any(worker.busy for worker in pool.workers):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return cell


async def test_cells_behind_one_that_computes_are_stopped_at_once_and_have_done_nothing() -> None:
    limits = Limits(cpu_seconds=None, wall_seconds=None)
    async with InterpreterStack("process:quickjs", limits=limits, options={"workers": 1}) as stack:
        sessions = [stack.session(f"s{number}") for number in range(8)]
        for session in sessions:
            assert (await session.eval("var count = 1")).ok
        first = await _computing(stack, sessions[0])
        behind = [asyncio.ensure_future(each.eval("count += 1")) for each in sessions[1:]]
        await asyncio.sleep(0.1)
        for cell in behind[::2]:
            cell.cancel()
        done, _ = await asyncio.wait(behind[::2], timeout=5.0)
        assert done == {*behind[::2]}  # long before the first one ends
        assert not first.done()
        first.cancel()
        assert [(await cell).text for cell in behind[1::2]] == ["2"] * 3
        with pytest.raises(asyncio.CancelledError):
            await first
        counts = [(await session.eval("count")).text for session in sessions]
        assert counts == ["1", "1", "2", "1", "2", "1", "2", "1"]


async def test_the_wall_time_of_a_cell_ends_behind_one_that_computes() -> None:
    never = Limits(cpu_seconds=None, wall_seconds=None)
    async with (
        InterpreterStack("process:quickjs", limits=never, options={"workers": 1}) as stack,
        InterpreterStack(stack.engine, limits=Limits(wall_seconds=3.0)) as hurried,
    ):
        other = hurried.session("other")
        assert (await other.eval("var count = 1")).ok
        first = await _computing(stack, stack.session("one"))
        outcome = await asyncio.wait_for(other.eval("count += 1"), 10.0)
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert not first.done()
        first.cancel()
        assert (await other.eval("count")).text == "1"
        with pytest.raises(asyncio.CancelledError):
            await first
