"""`tools_only`: the model sees the interpreter alone, and code calls everything else."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware

MADE: list[str] = []


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    MADE.append(to)
    return f"paid {to}"


@tool
def look() -> str:
    """Look."""
    return "seen"


class Seen(AgentMiddleware[Any, Any, Any]):
    """Notes the tools that the model gets."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        self.names = [getattr(item, "name", None) or item["type"] for item in request.tools]
        return await handler(request)


def direct(name: str, **args: Any) -> AIMessage:
    """The model calls a tool itself."""
    call = {"name": name, "args": args, "id": "direct", "type": "tool_call"}
    return AIMessage(content="", tool_calls=[call])


@pytest.fixture(autouse=True)
def _forget() -> None:
    MADE.clear()


async def test_the_model_sees_the_interpreter_alone_and_code_calls_all_tools(talk: Any) -> None:
    seen = Seen()
    chat = talk(tools=[pay, look], after=[seen], tools_only=True)
    said = await chat.run("[await tools.pay({to: 'ann'}), await tools.look({})]")
    assert said == ['<result>["paid ann", "seen"]</result>']
    assert seen.names == ["eval"]
    prompt = chat.model.seen[0][0].text
    assert "pay(" in prompt
    assert "look(" in prompt


async def test_an_allowlist_still_holds(talk: Any) -> None:
    chat = talk(tools=[pay, look], ptc=["look"], tools_only=True)
    said = await chat.run("[typeof tools.pay, typeof tools.look]")
    assert said == ['<result>["undefined", "function"]</result>']


@pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
async def test_a_direct_call_of_a_hidden_tool_is_refused_and_not_made(talk: Any) -> None:
    chat = talk(tools=[pay], tools_only=True)
    result = await chat.turn(direct("pay", to="ann"), "await tools.pay({to: 'bob'})")
    refused, made = [m for m in result["messages"] if m.type == "tool"]
    assert refused.status == "error"
    assert refused.text == (
        "direct tool calls are disabled; use eval and tools.<name>({field: …}) instead"
    )
    assert made.text == "<result>paid bob</result>"
    assert MADE == ["bob"]


async def test_direct_calls_are_made_without_the_option(talk: Any) -> None:
    await talk(tools=[pay], ptc=["pay"]).turn(direct("pay", to="ann"))
    assert MADE == ["ann"]


async def test_calls_of_another_interpreters_code_are_not_the_models(talk: Any) -> None:
    with CodeInterpreterMiddleware(tool_name="other", ptc=["pay"]) as other:
        chat = talk(tools=[pay], before=[other], tools_only=True)
        code = 'await tools.other({code: `await tools.pay({to: "ann"})`})'
        (said,) = await chat.run(code)
        assert "paid ann" in said
    assert MADE == ["ann"]


async def test_calls_wait_for_their_approval(talk: Any) -> None:
    chat = talk(tools=[pay], tools_only=True, interrupt_on={"pay": True})
    result = await chat.turn("await tools.pay({to: 'ann'})")
    assert len(result["__interrupt__"]) == 1
    assert MADE == []
    config = {"configurable": {"thread_id": "t"}}
    resume: Any = Command(resume={"decisions": [{"type": "approve"}]})
    await chat.agent.ainvoke(resume, config)
    assert MADE == ["ann"]


async def test_rules_of_the_agents_other_middleware_hold_for_all_tools(talk: Any) -> None:
    rules: Any = HumanInTheLoopMiddleware({"pay": True})
    chat = talk(tools=[pay], after=[rules], tools_only=True)
    result = await chat.turn("await tools.pay({to: 'ann'})")
    assert len(result["__interrupt__"]) == 1
    assert MADE == []


async def test_an_approval_of_a_tool_that_the_agent_lacks_is_an_error(talk: Any) -> None:
    chat = talk(tools=[pay], tools_only=True, interrupt_on={"pya": True})
    with pytest.raises(ConfigurationError, match=r"interrupt_on names 'pya'.*did you mean 'pay'"):
        await chat.turn("1")
