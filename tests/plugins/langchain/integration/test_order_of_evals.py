"""The evals of one message run in the order of the message, however late one of them begins."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command, interrupt

from interpstack_agents import EvalQueue

CONFIG = {"configurable": {"thread_id": "t"}}
#: Several times as long as an eval waits before it asks about another one.
LATE = 0.3

pytestmark = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


class InFront(AgentMiddleware):
    """Does something in front of the second eval of a message."""

    def __init__(self, act: str) -> None:
        super().__init__()
        self.act = act

    def _before(self, request: Any) -> ToolMessage | None:
        if self.act == "answer":
            return ToolMessage("refused", tool_call_id=request.tool_call["id"])
        if self.act == "ask":
            interrupt("may it run?")
        return None

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["id"] != "2":
            return handler(request)
        time.sleep(LATE)
        return self._before(request) or handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["id"] != "2":
            return await handler(request)
        await asyncio.sleep(LATE)
        return self._before(request) or await handler(request)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EvalQueue, "GRACE_SECONDS", 0.02)


def three() -> AIMessage:
    codes = ["var n = 1; n", "n += 10; n", "n += 100; n"]
    calls = [
        {"name": "eval", "args": {"code": code}, "id": str(number)}
        for number, code in enumerate(codes, start=1)
    ]
    return AIMessage("", tool_calls=calls)


async def run(talk: Any, given: Any, *, use_async: bool) -> Any:
    graph = talk.agent
    if use_async:
        return await graph.ainvoke(given, CONFIG)
    return await asyncio.to_thread(graph.invoke, given, CONFIG)


def answers(result: Any) -> list[str]:
    return [one.text for one in result["messages"] if isinstance(one, ToolMessage)]


async def begun(talk: Any, act: str, *, use_async: bool) -> tuple[Any, Any]:
    agent = talk(before=[InFront(act)])
    agent.say([three()])
    return agent, await run(agent, {"messages": [("user", "go")]}, use_async=use_async)


async def test_one_that_begins_late_is_waited_for(talk: Any, use_async: bool) -> None:
    _, result = await begun(talk, "sleep", use_async=use_async)
    assert answers(result) == ["<result>1</result>", "<result>11</result>", "<result>111</result>"]


async def test_one_that_is_answered_in_front_is_not_waited_for(talk: Any, use_async: bool) -> None:
    _, result = await begun(talk, "answer", use_async=use_async)
    assert answers(result) == ["<result>1</result>", "refused", "<result>101</result>"]


async def test_one_that_waits_for_a_person_in_front_comes_first(talk: Any, use_async: bool) -> None:
    agent, paused = await begun(talk, "ask", use_async=use_async)
    assert [one.value for one in paused["__interrupt__"]] == ["may it run?"]
    result = await run(agent, Command(resume=True), use_async=use_async)
    assert answers(result) == ["<result>1</result>", "<result>11</result>", "<result>111</result>"]
