"""Answers that are handed over together."""

from __future__ import annotations

import asyncio

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
