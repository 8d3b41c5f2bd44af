"""The evals of one message run in the order of the message, however late one of them begins."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
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


@pytest.mark.parametrize("mode", ["call", "thread"])
@pytest.mark.parametrize("with_another", [False, True], ids=["alone", "with a decision that fits"])
async def test_a_second_answer_to_an_eval_that_has_ended_is_refused_before_anything_is_done(
    talk: Any, evals: Any, mode: str, with_another: bool
) -> None:
    paid: list[str] = []

    @tool
    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return f"paid {to}"

    def answer(kind: str) -> Any:
        return {"decisions": [{"type": kind}]}

    def asked(result: Any) -> dict[str, str]:
        """The ids of the open questions, by who is paid."""
        open_now = {one.id: one.value["action_requests"][0] for one in result["__interrupt__"]}
        return {action["args"]["to"]: key for key, action in open_now.items()}

    chat = talk(tools=[pay], ptc=["pay"], interrupt_on={"pay": True}, mode=mode)
    paused = await chat.turn(evals("await tools.pay({to: 'A'})", "await tools.pay({to: 'B'})"))
    first = asked(paused)["A"]
    chat.say([])
    waiting = asked(await chat.send(Command(resume={first: answer("approve")})))
    assert paid == ["A"]
    assert [*waiting] == ["B"]
    second = waiting["B"]
    beside = {second: answer("approve")} if with_another else {}
    with pytest.raises(ValueError, match="already answered, and the first answer is final"):
        await chat.send(Command(resume={first: answer("reject"), **beside}))
    assert paid == ["A"]
    (still,) = (await chat.agent.aget_state(CONFIG)).interrupts
    assert still.id == second
    await chat.send(Command(resume={first: answer("approve"), second: answer("approve")}))
    assert paid == ["A", "B"]
