"""Sessions that wait for worker processes hold no guest thread."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from interpstack import InterpreterStack, Limits
from interpstack_core import threads

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
