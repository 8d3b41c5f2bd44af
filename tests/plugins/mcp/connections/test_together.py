"""Answers that are handed over together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from interpstack_mcp.connections import together as module
from interpstack_mcp.connections.together import Together


async def test_an_answer_waits_for_others_a_moment() -> None:
    together, order = Together(), list[str]()
    ends = {name: asyncio.Event() for name in "abc"}

    async def answer(name: str) -> None:
        with together.call():
            await ends[name].wait()
        order.append(f"came {name}")
        await together.join()
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
    together = Together()
    with together.call():
        pass
    joining = together.join()
    try:
        joining.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


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
    with ExitStack() as others:
        for _ in range(count):
            others.enter_context(together.call())
        await together.join()
    assert waits == [seconds]
