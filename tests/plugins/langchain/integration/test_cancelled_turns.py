"""A turn that is cancelled when a call ends: its tool does not run again on resume.

`INTERPSTACK_CANCELS` says how often; `tox -e cancel` has many.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections import Counter
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from scripted import Script, answers

from interpstack_langchain import CodeInterpreterMiddleware

TURNS = int(os.environ.get("INTERPSTACK_CANCELS", "60")) // 6
CODE = """
for (let i = 0; i < 10; i++) await Promise.all([tools.act({n: 2 * i}), tools.act({n: 2 * i + 1})]);
'done'
"""


def acting(kind: str, done: Counter[int], chance: random.Random) -> StructuredTool:
    """A tool that counts what it did, in a thread or on the loop."""

    async def act(n: int) -> int:
        await asyncio.sleep(chance.random() * 0.002)
        done[n] += 1
        return n

    def act_in_thread(n: int) -> int:
        time.sleep(chance.random() * 0.002)
        done[n] += 1
        return n

    given: Any = {"coroutine": act} if kind == "async" else {"func": act_in_thread}
    return StructuredTool.from_function(name="act", description="Act.", **given)


async def _turn(agent: Any, done: Counter[int], chance: random.Random, thread: str) -> Any:
    """One turn, cancelled up to three times while its eval runs, resumed each time."""
    config, given = {"configurable": {"thread_id": thread}}, {"messages": [json.dumps([CODE])]}
    for attempt in range(4):
        running = asyncio.ensure_future(agent.ainvoke(given, config))
        until = len(done) + chance.randrange(1, 8)
        while attempt < 3 and len(done) < until and not running.done():  # noqa: ASYNC110
            await asyncio.sleep(0)
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)
        if attempt < 3:
            running.cancel()
        try:
            return await running
        except asyncio.CancelledError:
            given = None  # type: ignore[assignment]
    raise AssertionError("the last attempt is not cancelled")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_a_tool_that_has_run_does_not_run_again(kind: str) -> None:
    done: Counter[int] = Counter()
    chance = random.Random(3)
    middleware = CodeInterpreterMiddleware(ptc=["act"])
    agent = create_agent(
        Script(),
        tools=[acting(kind, done, chance)],
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )
    for number in range(TURNS):
        done.clear()
        result = await _turn(agent, done, chance, f"t{number}")
        assert "done" in answers(result)[0]
        assert done == dict.fromkeys(range(20), 1)
    middleware.stack.close()
