"""Limits of `ToolCallLimitMiddleware` hold for calls from code, together with the model's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents.middleware import ToolCallLimitMiddleware
from langchain.agents.middleware.tool_call_limit import ToolCallLimitExceededError
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.rules.call_limits import folded

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

CONFIG = {"configurable": {"thread_id": "t"}}
LOOKS = """
const got = []
for (let i = 0; i < COUNT; i++) got.push(await tools.look({i}).catch(e => e.message))
got.join()
"""
REFUSED = "Tool call limit exceeded. Do not call 'look' again."


def looks(count: int) -> str:
    return LOOKS.replace("COUNT", str(count))


class Looks(list[int]):
    """The calls of a tool that looks, and the tool."""

    def tool(self) -> Any:
        done = self

        @tool
        def look(i: int) -> str:
            """Look."""
            done.append(i)
            return f"saw {i}"

        return look


@pytest.fixture
def done() -> Looks:
    return Looks()


@pytest.fixture
def chat(talk: Any, done: Looks) -> Any:
    def make(limiter: Any, **options: Any) -> Any:
        look = done.tool()
        return talk(**{"tools": [look], "ptc": ["look"], "after": [limiter], **options})

    return make


def by_model(i: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "look", "args": {"i": i}, "id": f"m{i}"}])


@both
@pytest.mark.parametrize("saver", [None, "memory"], ids=["", "checkpointer"])
async def test_calls_beyond_the_limit_of_a_tool_are_refused(
    chat: Any, done: Looks, saver: Any
) -> None:
    limiter = ToolCallLimitMiddleware(tool_name="look", run_limit=2)
    (text,) = await chat(limiter, checkpointer=saver).run(looks(4))
    assert text == f"<result>saw 0,saw 1,{REFUSED},{REFUSED}</result>"
    assert done == [0, 1]


@both
async def test_calls_of_the_model_and_of_code_count_together(chat: Any, done: Looks) -> None:
    limiter = ToolCallLimitMiddleware(tool_name="look", run_limit=4)
    conversation = chat(limiter)
    texts = await conversation.run(by_model(100), looks(2), by_model(101), looks(1), by_model(102))
    assert texts == [
        "saw 100",
        "<result>saw 0,saw 1</result>",
        "saw 101",
        f"<result>{REFUSED}</result>",
        REFUSED,
    ]
    assert done == [100, 0, 1, 101]
    assert await conversation.run(looks(1)) == ["<result>saw 0</result>"]  # a run of its own


@both
async def test_a_limit_of_the_thread_counts_earlier_turns(chat: Any, done: Looks) -> None:
    limiter = ToolCallLimitMiddleware(tool_name="look", thread_limit=3)
    conversation = chat(limiter)
    assert await conversation.run(looks(2)) == ["<result>saw 0,saw 1</result>"]
    assert await conversation.run(looks(2)) == [f"<result>saw 0,{REFUSED}</result>"]
    assert await conversation.run(by_model(9)) == [REFUSED]
    assert done == [0, 1, 0]


@both
async def test_a_limit_of_all_tools_counts_the_eval_and_its_calls(chat: Any, done: Looks) -> None:
    conversation = chat(ToolCallLimitMiddleware(run_limit=4))
    first, second, third = await conversation.run(looks(2), looks(2), "1")
    assert first == "<result>saw 0,saw 1</result>"
    assert "<result>Tool call limit exceeded" in second  # the eval itself was the fourth call
    assert third.startswith("Tool call limit exceeded")
    assert done == [0, 1]


@both
async def test_evals_of_one_message_share_a_limit(chat: Any, done: Looks, evals: Any) -> None:
    limiter = ToolCallLimitMiddleware(tool_name="look", run_limit=3)
    for mode in ("thread", "call"):
        done.clear()
        conversation = chat(limiter, mode=mode)
        await conversation.run(evals(looks(2), looks(2), looks(2)), by_model(7))
        assert len(done) == 3, mode


@both
async def test_a_limit_that_is_an_error_leaves_the_agent(chat: Any, done: Looks) -> None:
    limiter = ToolCallLimitMiddleware(tool_name="look", run_limit=1, exit_behavior="error")
    with pytest.raises(ToolCallLimitExceededError):
        await chat(limiter).run(looks(5))
    assert done == [0]


@both
@pytest.mark.parametrize("store", [None, InMemoryStore()], ids=["from its start", "in the middle"])
async def test_a_call_is_counted_once_though_its_eval_runs_again(
    chat: Any, done: Looks, store: Any
) -> None:
    limiter = ToolCallLimitMiddleware(tool_name="look", run_limit=3)
    rule = {"allowed_decisions": ["approve"], "when": lambda r: r.tool_call["args"]["i"] == 2}
    conversation = chat(limiter, interrupt_on={"look": rule}, agent_options={"store": store})
    assert (await conversation.turn(looks(4)))["__interrupt__"]
    given = Command(resume={"decisions": [{"type": "approve"}]})
    send = conversation.agent
    if conversation.use_async:
        result = await send.ainvoke(given, CONFIG)
    else:
        result = await asyncio.to_thread(send.invoke, given, CONFIG)
    text = [m.text for m in result["messages"] if m.type == "tool"][-1]
    assert text == f"<result>saw 0,saw 1,saw 2,{REFUSED}</result>"
    assert done == [0, 1, 2]


async def test_two_interpreters_add_their_calls_once(talk: Any, done: Looks, evals: Any) -> None:
    limiter = ToolCallLimitMiddleware(tool_name="look", thread_limit=3)
    look = done.tool()
    with CodeInterpreterMiddleware(ptc=[look], tool_name="other") as other:
        chat = talk(tools=[look], ptc=["look"], after=[other, limiter])
        await chat.run(looks(1), evals(looks(1), name="other"), by_model(8), by_model(9))
    assert done == [0, 0, 8]


async def test_tools_without_a_limit_are_not_counted(chat: Any, done: Looks) -> None:
    conversation = chat(ToolCallLimitMiddleware(tool_name="other", run_limit=1))
    await conversation.run(looks(3))
    assert done == [0, 1, 2]
    state = (await conversation.agent.aget_state(CONFIG)).values
    assert not state.get("interpreter_calls")


def test_calls_are_added_once() -> None:
    state = {
        "interpreter_calls": {"a": {"look": 2, "__all__": 3}, "b": {"look": 1}},
        "thread_tool_call_count": {"look": 1},
    }
    update = folded(state)
    assert update == {
        "thread_tool_call_count": {"look": 4, "__all__": 3},
        "run_tool_call_count": {"look": 3, "__all__": 3},
        "interpreter_calls": None,
    }
    assert folded({**state, **update}) == {}
