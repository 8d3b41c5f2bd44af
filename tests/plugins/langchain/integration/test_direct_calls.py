"""Approvals of calls that the model makes itself, by the interpreter's `interrupt_on`."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware

CONFIG = {"configurable": {"thread_id": "t"}}
APPROVE = {"type": "approve"}
done: list[str] = []

pytestmark = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


@tool
def pay(to: str, euros: int) -> str:
    """Pay somebody."""
    done.append(f"pay {to} {euros}")
    return f"receipt {to} {euros}"


@tool
def note(text: str) -> Command[Any]:
    """Note a text."""
    done.append(f"note {text}")
    answer = ToolMessage("noted", tool_call_id="1")
    return Command(update={"messages": [answer]})


@tool
def keep(value: Any) -> str:
    """Keep a value."""
    done.append(f"keep {value}")
    return "kept"


@tool
def read() -> str:
    """Read."""
    done.append("read")
    return "text"


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    done.clear()


def calls(*made: tuple[str, dict[str, Any]]) -> AIMessage:
    """A message of the model with calls; their ids are 1, 2, …"""
    listed = [
        {"name": name, "args": args, "id": str(n)} for n, (name, args) in enumerate(made, start=1)
    ]
    return AIMessage(content="", tool_calls=listed)


PAY = calls(("pay", {"to": "Ann", "euros": 50}))


class Direct:
    """An agent whose model calls tools without code."""

    def __init__(self, talk: Any, *, use_async: bool, **options: Any) -> None:
        tools = [pay, note, read]
        defaults = {"tools": tools, "ptc": ["pay", "note", "read"], "interrupt_on": {"pay": True}}
        options = {**defaults, **options}
        self.agent = talk(**options)
        self.use_async = use_async

    async def run(self, given: Any) -> Any:
        graph = self.agent.agent
        if self.use_async:
            return await graph.ainvoke(given, CONFIG)
        return graph.invoke(given, CONFIG)

    async def begin(self, message: AIMessage) -> Any:
        self.agent.say([message])
        return await self.run({"messages": [("user", "go")]})

    async def decide(self, *decisions: Any) -> Any:
        return await self.run(Command(resume={"decisions": list(decisions)}))


def question(result: Any) -> dict[str, Any]:
    (found,) = result["__interrupt__"]
    value: dict[str, Any] = found.value
    return value


def answer(result: Any) -> ToolMessage:
    (found,) = (one for one in result["messages"] if isinstance(one, ToolMessage))
    return found


async def test_the_models_own_call_waits_for_its_approval(talk: Any, use_async: bool) -> None:
    agent = Direct(talk, use_async=use_async)
    (action,) = question(await agent.begin(PAY))["action_requests"]
    assert (action["name"], action["args"]) == ("pay", {"to": "Ann", "euros": 50})
    assert done == []
    result = await agent.decide(APPROVE)
    assert done == ["pay Ann 50"]
    assert answer(result).content == "receipt Ann 50"


async def test_a_call_that_the_thread_cannot_store_is_refused_before_anybody_is_asked(
    talk: Any, use_async: bool
) -> None:
    agent = Direct(talk, use_async=use_async)
    result = await agent.begin(calls(("pay", {"to": "\ud83d", "euros": 50})))
    assert "__interrupt__" not in result
    assert "half of a surrogate pair" in str(answer(result).content)
    assert done == []


@pytest.mark.parametrize(
    ("args", "why"),
    [
        # Somebody who is shown it would approve a trial, and the tool would drop the field.
        ({"to": "Ann", "euros": 50, "dry_run": True}, "it has no field 'dry_run'"),
        ({"to": "Ann", "euros": "many"}, "euros: Input should be a valid integer"),
        ({"to": "Ann"}, "euros: Field required"),
    ],
)
async def test_nobody_is_asked_about_arguments_that_the_tool_does_not_take(
    talk: Any, use_async: bool, args: dict[str, Any], why: str
) -> None:
    agent = Direct(talk, use_async=use_async)
    result = await agent.begin(calls(("pay", args)))
    assert "__interrupt__" not in result
    assert answer(result).status == "error"
    assert f"pay needs an approval, and was not called: {why}" in str(answer(result).content)
    assert done == []


async def test_a_tool_without_a_rule_is_called_at_once(talk: Any, use_async: bool) -> None:
    agent = Direct(talk, use_async=use_async)
    result = await agent.begin(calls(("read", {}), ("pay", {"to": "Ann", "euros": 50})))
    assert done == ["read"]
    assert question(result)["action_requests"][0]["name"] == "pay"
    await agent.decide(APPROVE)
    assert done == ["read", "pay Ann 50"]


async def test_a_rejected_call_is_not_made(talk: Any, use_async: bool) -> None:
    agent = Direct(talk, use_async=use_async)
    await agent.begin(PAY)
    result = answer(await agent.decide({"type": "reject", "message": "too much"}))
    assert done == []
    assert result.status == "error"
    assert result.content == "a reviewer rejected this call of pay: too much"


async def test_an_answer_of_a_person_takes_the_place_of_the_call(
    talk: Any, use_async: bool
) -> None:
    agent = Direct(talk, use_async=use_async)
    await agent.begin(PAY)
    result = answer(await agent.decide({"type": "respond", "message": "paid in cash"}))
    assert done == []
    assert (result.status, result.content) == ("success", "paid in cash")


async def test_the_model_sees_an_edit(talk: Any, use_async: bool) -> None:
    agent = Direct(talk, use_async=use_async)
    await agent.begin(PAY)
    edited = {"name": "pay", "args": {"to": "Ann", "euros": 5}}
    result = answer(await agent.decide({"type": "edit", "edited_action": edited}))
    assert done == ["pay Ann 5"]
    assert result.content == (
        "A reviewer changed this call. Made instead: pay with "
        '{"to": "Ann", "euros": 5}.\nreceipt Ann 5'
    )


async def test_an_edit_from_a_number_to_true_is_an_edit(talk: Any, use_async: bool) -> None:
    agent = Direct(
        talk, use_async=use_async, tools=[keep], ptc=["keep"], interrupt_on={"keep": True}
    )
    await agent.begin(calls(("keep", {"value": 1})))
    edited = {"name": "keep", "args": {"value": True}}
    result = answer(await agent.decide({"type": "edit", "edited_action": edited}))
    assert done == ["keep True"]
    assert str(result.content).startswith("A reviewer changed this call.")


async def test_an_edit_may_name_another_tool(talk: Any, use_async: bool) -> None:
    agent = Direct(talk, use_async=use_async)
    await agent.begin(PAY)
    edited = {"name": "note", "args": {"text": "pay Ann"}}
    result = answer(await agent.decide({"type": "edit", "edited_action": edited}))
    assert done == ["note pay Ann"]
    assert str(result.content).startswith("A reviewer changed this call. Made instead: note with")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"type": "aprove"}, "pay can be decided with approve, edit, reject"),
        ({"type": "edit", "edited_action": {"name": "pay", "args": {"to": 1}}}, "euros"),
        ({"type": "edit", "edited_action": {"name": "eval", "args": {"code": "1"}}}, "eval"),
    ],
)
async def test_an_unfit_answer_leaves_the_question_open(
    talk: Any, use_async: bool, wrong: dict[str, Any], reason: str
) -> None:
    agent = Direct(talk, use_async=use_async)
    await agent.begin(PAY)
    again = question(await agent.decide(wrong))
    assert reason in again["refused"][0]
    assert again["action_requests"][0]["args"] == {"to": "Ann", "euros": 50}
    twice = question(await agent.decide(APPROVE, APPROVE))
    assert "1 in total; got 2" in twice["refused"][0]
    assert done == []
    await agent.decide(APPROVE)
    assert done == ["pay Ann 50"]


async def test_the_rule_decides_by_the_arguments(talk: Any, use_async: bool) -> None:
    when = {
        "allowed_decisions": ["approve"],
        "when": lambda request: request.tool_call["args"]["euros"] > 10,
    }
    agent = Direct(talk, use_async=use_async, interrupt_on={"pay": when})
    await agent.begin(calls(("pay", {"to": "Bob", "euros": 2})))
    assert done == ["pay Bob 2"]


async def test_a_rule_that_fails_makes_no_call(talk: Any, use_async: bool) -> None:
    def fails(request: Any) -> bool:
        raise ValueError("no such rule")

    when = {"allowed_decisions": ["approve"], "when": fails}
    agent = Direct(talk, use_async=use_async, interrupt_on={"pay": when})
    result = answer(await agent.begin(PAY))
    assert done == []
    assert "the approval rule of pay failed, so the call was not made" in str(result.content)


async def test_two_calls_are_decided_each_by_its_id(talk: Any, use_async: bool) -> None:
    agent = Direct(talk, use_async=use_async)
    both = calls(("pay", {"to": "Ann", "euros": 1}), ("pay", {"to": "Bob", "euros": 2}))
    result = await agent.begin(both)
    by_name = {
        one.value["action_requests"][0]["args"]["to"]: one for one in result["__interrupt__"]
    }
    await agent.run(Command(resume={
        by_name["Bob"].id: {"decisions": [APPROVE]},
        by_name["Ann"].id: {"decisions": [{"type": "reject", "message": "no"}]},
    }))  # fmt: skip
    assert done == ["pay Bob 2"]


async def test_a_middleware_that_names_the_tool_asks_alone(talk: Any, use_async: bool) -> None:
    beside = HumanInTheLoopMiddleware({"pay": True})
    agent = Direct(talk, use_async=use_async, before=[beside])
    await agent.begin(PAY)
    result = await agent.decide(APPROVE)
    assert "__interrupt__" not in result
    assert done == ["pay Ann 50"]


async def test_a_call_of_code_is_asked_about_once(talk: Any, use_async: bool) -> None:
    """The call passes the other interpreter's hook, which knows that code makes it."""
    other = CodeInterpreterMiddleware(tool_name="other", ptc=["pay"], interrupt_on={"pay": True})
    agent = Direct(talk, use_async=use_async, before=[other])
    code = "await tools.pay({to: 'Ann', euros: 1})"
    await agent.begin(calls(("eval", {"code": code})))
    result = await agent.decide(APPROVE)
    assert "__interrupt__" not in result
    assert done == ["pay Ann 1"]
    other.close()


async def test_a_rule_about_no_tool_is_refused_before_a_call(talk: Any, use_async: bool) -> None:
    agent = Direct(talk, use_async=use_async, ptc=["paay"], interrupt_on={"paay": True})
    with pytest.raises(ConfigurationError, match=r"names 'paay'.*did you mean 'pay'"):
        await agent.begin(PAY)
    assert done == []
