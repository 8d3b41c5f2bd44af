"""Answers that are handed over together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from interpstack_mcp.connections import together as module
from interpstack_mcp.connections.together import Together


async def test_an_answer_waits_for_others_a_moment() -> None:
    together, order = Together(), list[str]()
    ends = {name: asyncio.Event() for name in "abc"}

    async def answer(name: str) -> None:
        async with together:
            await ends[name].wait()
            order.append(f"came {name}")
        order.append(f"told {name}")

    calls = [asyncio.ensure_future(answer(name)) for name in "abc"]
    await asyncio.sleep(0)
    ends["a"].set()
    ends["b"].set()
    await asyncio.gather(*calls[:2])  # although the third is still open
    assert order == ["came a", "came b", "told a", "told b"]
    ends["c"].set()
    await calls[2]
    assert order[4:] == ["came c", "told c"]


async def test_a_single_answer_waits_for_nothing() -> None:
    async def answer() -> None:
        async with Together():
            pass

    answering = answer()
    try:
        answering.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


async def test_an_error_waits_for_others_too_and_a_cancelled_call_does_not() -> None:
    together, order = Together(), list[str]()

    async def fail(error: BaseException) -> None:
        raise error

    async def call(name: str, error: BaseException) -> None:
        try:
            async with together:
                await fail(error)
        finally:
            order.append(name)

    async with together:
        failing = asyncio.ensure_future(call("error", ValueError()))
        cancelled = asyncio.ensure_future(call("cancelled", asyncio.CancelledError()))
        await asyncio.sleep(0)
        assert order == ["cancelled"]
    with pytest.raises(ValueError):
        await failing
    assert order == ["cancelled", "error"]
    assert cancelled.cancelled()


@pytest.mark.parametrize(("count", "seconds"), [(1, 0.8), (8, 4.0), (90, 7.0)])
async def test_an_answer_waits_the_longer_the_more_calls_are_open(
    count: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LEAST_SECONDS", 0.8)
    monkeypatch.setattr(module, "_EACH_SECONDS", 0.5)
    monkeypatch.setattr(module, "_MOST_SECONDS", 7.0)
    loop = asyncio.get_running_loop()
    waits = list[float]()

    def noted(delay: float, release: Callable[[], None]) -> None:
        waits.append(delay)
        loop.call_soon(release)

    monkeypatch.setattr(loop, "call_later", noted)
    together = Together()
    async with AsyncExitStack() as others:
        for _ in range(count):
            await others.enter_async_context(together)
        async with together:
            pass
        others.pop_all()
    assert waits == [seconds]
