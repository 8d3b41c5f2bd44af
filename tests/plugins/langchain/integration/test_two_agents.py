"""Two agents of one process at one pause, as where a server makes an agent for each request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack_langchain.durability.checkpoint_stores import CheckpointStore
from interpstack_langchain.durability.checkpoint_writes import JOURNAL_CHANNEL, task_of


@pytest.mark.parametrize("delay", [0, 0.02])
@pytest.mark.parametrize("store", ["memory-async", "sqlite-async", "postgres-async"], indirect=True)
async def test_both_resume_a_pause_and_the_call_is_made_once(
    talk: Any, store: Any, delay: float
) -> None:
    made: list[str] = []

    @tool
    async def pay(to: str) -> str:
        """Pay."""
        made.append(to)
        await asyncio.sleep(0.1)
        return f"paid {to}"

    options = {"tools": [pay], "ptc": ["pay"], "interrupt_on": {"pay": True}}
    approved: Any = Command(resume={"decisions": [{"type": "approve"}]})
    config: Any = {"configurable": {"thread_id": "t"}}

    async def resume(chat: Any, after: float) -> Any:
        await asyncio.sleep(after)
        return await chat.agent.ainvoke(approved, config)

    async with store.open() as one, store.open() as another:
        savers = (one, one if store.place is None else another)
        first, second = (talk(checkpointer=saver, **options) for saver in savers)
        await first.turn("await tools.pay({to: 'A'})")
        second.say([])
        await asyncio.gather(resume(first, 0), resume(second, delay), return_exceptions=True)
    assert made == ["A"]


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("store", ["memory-async", "sqlite-async", "postgres-async"], indirect=True)
async def test_of_two_decisions_at_once_that_differ_one_is_refused(
    talk: Any, store: Any, by_id: bool
) -> None:
    made: list[str] = []

    @tool
    async def pay(to: str) -> str:
        """Pay."""
        made.append(to)
        return f"paid {to}"

    options = {"tools": [pay], "ptc": ["pay"], "interrupt_on": {"pay": True}}
    config: Any = {"configurable": {"thread_id": "t"}}

    async with store.open() as one, store.open() as another:
        savers = (one, one if store.place is None else another)
        first, second = (talk(checkpointer=saver, **options) for saver in savers)
        await first.turn("await tools.pay({to: 'A'})")
        (asked,) = (await first.agent.aget_state(config)).interrupts

        def decide(chat: Any, kind: str) -> Any:
            answer = {"decisions": [{"type": kind}]}
            return chat.send(Command(resume={asked.id: answer} if by_id else answer))

        second.say([])
        ends = await asyncio.gather(
            decide(first, "approve"), decide(second, "reject"), return_exceptions=True
        )
        (refused,) = [end for end in ends if isinstance(end, BaseException)]
        (done,) = [end for end in ends if not isinstance(end, BaseException)]
        assert isinstance(refused, ValueError)
        assert "this question was already answered, and the first answer is final" in str(refused)
        assert ("paid A" in done["messages"][-2].text) == (made == ["A"])
        state = await first.agent.aget_state(config)
        assert (state.next, state.interrupts) == ((), ())


async def test_a_run_that_another_one_overtook_makes_no_call(
    talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may go on with a step before the process that stored it begins it."""
    made: list[str] = []

    @tool
    async def pay(to: str) -> str:
        """Pay."""
        made.append(to)
        return f"paid {to}"

    take_answers = CheckpointStore.take_answers

    async def overtaken(store: CheckpointStore, journal: Any) -> None:
        await store.writes.put([(JOURNAL_CHANNEL, {"began": 1.0})], task_of(store.key, 0))
        await take_answers(store, journal)

    monkeypatch.setattr(CheckpointStore, "take_answers", overtaken)
    with pytest.raises(RuntimeError, match=r"has begun this eval; no call was made here"):
        await talk(tools=[pay], ptc=["pay"]).turn("await tools.pay({to: 'A'})")
    assert made == []


@pytest.mark.parametrize("end", ["'done'", "throw new Error('late')"])
async def test_an_eval_that_has_answered_is_not_run_again_by_a_middleware(
    talk: Any, end: str
) -> None:
    made: list[str] = []

    @tool
    async def pay(to: str) -> str:
        """Pay."""
        made.append(to)
        return f"paid {to}"

    class Again(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return [handler(request) for _ in range(1 + (request.tool_call["name"] == "eval"))][-1]

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            again = request.tool_call["name"] == "eval"
            return [await handler(request) for _ in range(1 + again)][-1]

    chat = talk(tools=[pay], ptc=["pay"], before=[Again()])
    with pytest.raises(RuntimeError, match="or a middleware called its handler again"):
        await chat.turn(f"await tools.pay({{to: 'A'}}); {end}")
    assert made == ["A"]
