"""The end of what nobody uses."""

from __future__ import annotations

import asyncio

from interpstack_mcp.passing.idling import IdleTimer


async def test_what_is_idle_is_closed_once_it_is_not_busy() -> None:
    closed = asyncio.Event()
    busy = [True, True, False]

    async def close() -> None:
        closed.set()

    timer = IdleTimer(0.01, lambda: busy.pop(0), close)
    timer.start()
    timer.start()
    await asyncio.wait_for(closed.wait(), 60)
    assert busy == []
    timer.stop()


async def test_a_stopped_timer_closes_nothing() -> None:
    async def close() -> None:
        raise AssertionError("it is stopped")

    asked: list[int] = []
    timer = IdleTimer(0.01, lambda: bool(asked.append(1)), close)
    timer.stop()
    timer.start()
    timer.stop()
    other = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, other.set)
    await asyncio.wait_for(other.wait(), 60)
    assert asked == []
