"""Cells that several calls of one message, or of two agents, continue and end at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from .test_background_evals import TWO, Bank, bank, both, call, cell_of, chat, until

__all__ = ["bank", "chat"]

CODE = "q = 'after'; const n = await tools.slow({n: 1}); const p = await tools.pay({}); n + p"
CONFIG: Any = {"configurable": {"thread_id": "t"}}


def together(*messages: AIMessage) -> AIMessage:
    return AIMessage("", tool_calls=[one for each in messages for one in each.tool_calls])


async def begun(agent: Any) -> str:
    await agent.run("var q = 'before'")
    (first,) = await agent.run(CODE)
    return cell_of(first)


@both
@pytest.mark.parametrize("seconds", [0, 30])
async def test_after_terminate_nothing_of_the_cell_runs(
    chat: Any, bank: Bank, use_async: bool, seconds: int
) -> None:
    agent = chat()
    cell = await begun(agent)
    said, expired, q = await agent.run(
        together(
            call("terminate", id=cell),
            call("wait", id=cell, seconds=seconds),
            call("eval", code="q"),
        )
    )
    assert "it was terminated; its changes to variables are undone" in said
    assert f"cell {cell}: it was terminated; no cell is running" in expired
    assert q == "<result>before</result>"
    assert (bank.begun, bank.paid) == ([1], 0)
    bank.gate(1).set()
    assert await agent.run("q") == ["<result>before</result>"]
    (expired,) = await agent.run(call("wait", id=cell, seconds=seconds))
    assert "it was terminated" in expired
    assert (bank.begun, bank.paid) == ([1], 0)


async def test_a_cell_of_the_same_message_is_named(chat: Any, bank: Bank) -> None:
    agent = chat()
    first, other = await agent.run(together(call("eval", code=CODE), call("wait", id="nope")))
    assert f"there is no such cell; running: {cell_of(first)}" in other
    assert (bank.begun, bank.paid) == ([1], 0)


@both
async def test_a_cell_that_ended_by_itself_says_so(chat: Any, bank: Bank, use_async: bool) -> None:
    agent = chat()
    cell = await begun(agent)
    bank.gate(1).set()
    waits = [call("wait", id=cell, seconds=60) for _ in range(2)]
    said, again, expired, q = await agent.run(
        together(*waits, call("terminate", id=cell), call("eval", code="q"))
    )
    assert said == "<result>1paid</result>"
    for other in (again, expired):
        assert f"cell {cell}: it has ended, and its result was returned" in other
    assert q == "<result>after</result>"
    assert await agent.run("q") == ["<result>after</result>"]
    assert (bank.begun, bank.paid) == ([1], 1)


@pytest.mark.parametrize("first", ["wait", "terminate"])
async def test_an_approval_is_pending(chat: Any, bank: Bank, first: str) -> None:
    agent = chat(interrupt_on={"pay": True})
    cell = await begun(agent)
    bank.gate(1).set()
    await until(lambda: bank.ended == [1])
    calls = [call("wait", id=cell, seconds=60), call("terminate", id=cell)]
    if first == "terminate":
        expired = await agent.run(together(*reversed(calls)))
        assert "it was terminated" in expired[1]
    else:
        asked = await agent.turn(together(*calls))
        assert asked["__interrupt__"]
        resume = Command(resume={"decisions": [{"type": "approve"}]})
        result = await agent.agent.ainvoke(resume, CONFIG)
        texts = [m.text for m in result["messages"] if isinstance(m, ToolMessage)][-2:]
        assert texts[0] == "<result>1paid</result>"
        assert "it has ended, and its result was returned" in texts[1]
    assert bank.paid == (first == "wait")
    after = "after" if first == "wait" else "before"
    assert await agent.run("q") == [f"<result>{after}</result>"]


@pytest.mark.parametrize("release", [True, False])
async def test_two_agents_terminate_and_wait(chat: Any, bank: Bank, release: bool) -> None:
    saver = InMemorySaver()
    one, two = chat(checkpointer=saver), chat(checkpointer=saver)
    cell = await begun(one)
    if release:
        bank.gate(1).set()
    texts = await asyncio.gather(
        one.run(call("terminate", id=cell)), two.run(call("wait", id=cell, seconds=20))
    )
    (ended,), (waited,) = texts
    if waited == "<result>1paid</result>":
        assert "it has ended, and its result was returned" in ended
        assert bank.paid == 1
    else:
        assert "it was terminated; its changes to variables are undone" in ended
        assert "it was terminated" in waited
        assert bank.paid == 0
    assert release or bank.paid == 0
    assert bank.begun == [1]


async def test_terminate_ends_a_time_slice_of_another_agent(chat: Any, bank: Bank) -> None:
    saver = InMemorySaver()
    one, two = chat(checkpointer=saver), chat(checkpointer=saver)
    (first,) = await one.run(TWO + "; await tools.pay({})")
    cell = cell_of(first)
    bank.gate(1).set()
    await until(lambda: bank.ended == [1])
    waiting = asyncio.ensure_future(two.run(call("wait", id=cell, seconds=3000)))
    await until(lambda: bank.begun == [1, 2])
    (said,) = await one.run(call("terminate", id=cell))
    assert "it was terminated; its changes to variables are undone" in said
    (expired,) = await waiting
    assert f"cell {cell}: it was terminated" in expired
    assert (bank.cancelled, bank.paid) == ([2], 0)


async def test_an_agent_without_background_does_not_change_the_variables(
    chat: Any, bank: Bank
) -> None:
    saver = InMemorySaver()
    one, two = chat(checkpointer=saver), chat(checkpointer=saver, background=None)
    cell = await begun(one)
    (refused,) = await two.run("var lost = 5")
    assert f"cell {cell} is still running and holds the variables; nothing was run" in refused
    assert "background=True" in refused
    bank.gate(1).set()
    assert await one.run(call("wait", id=cell, seconds=60)) == ["<result>1paid</result>"]
    assert await two.run("var kept = q; kept") == ["<result>after</result>"]
