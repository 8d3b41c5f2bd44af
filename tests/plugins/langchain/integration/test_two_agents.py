"""Two agents of one process at one pause, as where a server makes an agent for each request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command


@pytest.mark.parametrize("delay", [0, 0.02])
async def test_both_resume_a_pause_and_the_call_is_made_once(talk: Any, delay: float) -> None:
    made: list[str] = []

    @tool
    async def pay(to: str) -> str:
        """Pay."""
        made.append(to)
        await asyncio.sleep(0.1)
        return f"paid {to}"

    saver = InMemorySaver()
    options = {"tools": [pay], "ptc": ["pay"], "interrupt_on": {"pay": True}}
    first, second = (talk(checkpointer=saver, **options) for _ in range(2))
    await first.turn("await tools.pay({to: 'A'})")
    second.say([])
    approved: Any = Command(resume={"decisions": [{"type": "approve"}]})
    config: Any = {"configurable": {"thread_id": "t"}}

    async def resume(chat: Any, after: float) -> Any:
        await asyncio.sleep(after)
        return await chat.agent.ainvoke(approved, config)

    await asyncio.gather(resume(first, 0), resume(second, delay))
    assert made == ["A"]
