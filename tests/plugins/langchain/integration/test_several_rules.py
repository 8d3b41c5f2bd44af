"""Several rules about one call, rules of other interpreters, and answers and arguments that err."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware

CONFIG = {"configurable": {"thread_id": "t"}}
APPROVE = {"type": "approve"}
REJECT = {"type": "reject", "message": "no"}
PAY = "await tools.pay({to: 'Ann', euros: 50})"
BROKEN = "'\\ud800'"
per_call = pytest.mark.skipif(
    "interrupt_mode" not in inspect.signature(HumanInTheLoopMiddleware).parameters,
    reason="this release of LangChain asks in one way only",
)


class Second(HumanInTheLoopMiddleware[Any, Any, Any]):
    """Another middleware with rules; the names of an agent's middleware differ."""


paid: list[str] = []


@tool
def pay(to: str, euros: int) -> str:
    """Pay somebody."""
    paid.append(f"{to} {euros}")
    return f"receipt {to} {euros}"


@tool
def save(data: dict[str, Any]) -> int:
    """Save data."""
    paid.append("saved")
    return len(data)


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


def edit(euros: int) -> dict[str, Any]:
    action = {"name": "pay", "args": {"to": "Ann", "euros": euros}}
    return {"type": "edit", "edited_action": action}


def answer_of(result: Any) -> str:
    return [m.text for m in result["messages"] if isinstance(m, ToolMessage)][-1]


def asked(result: Any) -> tuple[dict[str, Any], list[str]]:
    """The arguments in the only open question, and the decisions that it allows."""
    (found,) = result["__interrupt__"]
    (action,), (config,) = found.value["action_requests"], found.value["review_configs"]
    return action["args"], config["allowed_decisions"]


# -- several rules -------------------------------------------------------------------------


def _twice(talk: Any, *second: str) -> Any:
    rules = [
        HumanInTheLoopMiddleware({"pay": {"allowed_decisions": ["approve", "edit", "reject"]}}),
        Second({"pay": {"allowed_decisions": list(second)}}),
    ]
    return talk(tools=[pay], ptc=["pay"], before=rules)


async def test_each_rule_is_asked(talk: Any) -> None:
    chat = _twice(talk, "reject")
    assert asked(await chat.turn(PAY))[1] == ["approve", "edit", "reject"]
    assert asked(await chat.decide(APPROVE))[1] == ["reject"]
    assert not paid
    with pytest.raises(ValueError, match="decided with reject"):
        await chat.decide(APPROVE)
    assert "no" in answer_of(await chat.decide(REJECT))
    assert not paid


async def test_the_next_rule_is_asked_about_the_edited_call(talk: Any) -> None:
    chat = _twice(talk, "approve")
    await chat.turn(PAY)
    shown, allowed = asked(await chat.decide(edit(7)))
    assert (shown, allowed) == ({"to": "Ann", "euros": 7}, ["approve"])
    assert answer_of(await chat.decide(APPROVE)) == "<result>receipt Ann 7</result>"
    assert paid == ["Ann 7"]


async def test_a_rejection_ends_the_questions(talk: Any) -> None:
    chat = _twice(talk, "approve")
    await chat.turn(PAY)
    assert "__interrupt__" not in await chat.decide(REJECT)
    assert not paid


@pytest.mark.parametrize("own", [True, False], ids=["interrupt_on", "a middleware"])
@pytest.mark.parametrize("callable_", [["pay", "save"], ["pay"]])
async def test_an_edit_to_another_tool_is_asked_about_by_the_rules_of_that_tool(
    talk: Any, own: bool, callable_: list[str]
) -> None:
    rule = {"pay": {"allowed_decisions": ["approve", "edit"]}}
    rules = [] if own else [HumanInTheLoopMiddleware(rule)]
    chat = talk(
        tools=[pay, save],
        ptc=callable_,
        interrupt_on=rule if own else None,
        before=[*rules, Second({"save": {"allowed_decisions": ["approve", "reject"]}})],
    )
    await chat.turn(PAY)
    action = {"name": "save", "args": {"data": {"a": 1}}}
    shown, allowed = asked(await chat.decide({"type": "edit", "edited_action": action}))
    assert (shown, allowed) == ({"data": {"a": 1}}, ["approve", "reject"])
    assert not paid
    assert answer_of(await chat.decide(APPROVE)) == "<result>1</result>"
    assert paid == ["saved"]


async def test_an_edit_to_another_tool_of_the_same_rule_is_not_asked_about_again(talk: Any) -> None:
    chat = talk(tools=[pay, save], ptc=["pay"], before=[HumanInTheLoopMiddleware(
        {"pay": True, "save": True}
    )])  # fmt: skip
    await chat.turn(PAY)
    action = {"name": "save", "args": {"data": {}}}
    ended = await chat.decide({"type": "edit", "edited_action": action})
    assert answer_of(ended) == "<result>0</result>"
    assert paid == ["saved"]


# -- other interpreters --------------------------------------------------------------------


def _python(talk: Any, own: Any, **options: Any) -> Any:
    outer = CodeInterpreterMiddleware(tool_name="js", ptc=["pay"], interrupt_on={"pay": True})
    return talk(tools=[pay], ptc=["pay"], interrupt_on=own, before=[outer], **options)


async def test_a_rule_of_another_interpreter_holds(talk: Any) -> None:
    chat = _python(talk, None)
    assert asked(await chat.turn(PAY))[0] == {"to": "Ann", "euros": 50}
    assert not paid
    assert answer_of(await chat.decide(APPROVE)) == "<result>receipt Ann 50</result>"
    assert paid == ["Ann 50"]


async def test_the_own_rule_wins_over_another_interpreter_s(talk: Any) -> None:
    assert await _python(talk, {"pay": False}).run(PAY) == ["<result>receipt Ann 50</result>"]
    paid.clear()
    own = {"pay": {"allowed_decisions": ["approve"]}}
    chat = _python(talk, own)
    assert asked(await chat.turn(PAY))[1] == ["approve"]
    assert "__interrupt__" not in await chat.decide(APPROVE)
    assert paid == ["Ann 50"]


async def test_a_rule_of_another_interpreter_needs_a_record(talk: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"interrupt_on of js.*asks for an approval"):
        await _python(talk, None, durable=False).turn(PAY)
    assert not paid


# -- arguments -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [f"save({{data: {{[{BROKEN}]: 1}}}})", f"save({{data: {{a: [{{[{BROKEN}]: 1}}]}}}})"],
)
@pytest.mark.parametrize("own", [True, False])
async def test_code_can_catch_that_a_key_cannot_be_shown(talk: Any, call: str, own: bool) -> None:
    rules = {"pay": True, "save": True}
    how: Any = {"interrupt_on": rules} if own else {"before": [HumanInTheLoopMiddleware(rules)]}
    chat = talk(tools=[pay, save], ptc=["pay", "save"], **how)
    code = f"let e; try {{ await tools.{call} }} catch (error) {{ e = error.message }}; e"
    (answer,) = await chat.run(code)
    assert "no person can be shown the key" in answer
    assert not paid


async def test_a_call_that_a_rule_changes_is_made_as_it_is_shown(talk: Any) -> None:
    def raises(request: Any) -> bool:
        request.tool_call["args"]["euros"] = 99
        return True

    rule = {"allowed_decisions": ["approve"], "when": raises}
    chat = talk(tools=[pay], ptc=["pay"], interrupt_on={"pay": rule})
    assert asked(await chat.turn(PAY))[0] == {"to": "Ann", "euros": 99}
    assert answer_of(await chat.decide(APPROVE)) == "<result>receipt Ann 99</result>"
    assert paid == ["Ann 99"]


# -- answers -------------------------------------------------------------------------------


@per_call
async def test_an_answer_that_does_not_fit_leaves_the_question_of_each_call_open(talk: Any) -> None:
    sibling: Any = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode="per_call")
    chat = talk(tools=[pay], ptc=["pay"], after=[sibling])
    (found,) = (await chat.turn(f"{PAY}.catch(e => e.message)"))["__interrupt__"]
    for _ in range(2):
        with pytest.raises(ValueError, match="validation error"):
            await chat.decide(APPROVE)
        assert not paid
        (still,) = (await chat.agent.aget_state(CONFIG)).interrupts
        assert still.id == found.id
    result = await chat.send(Command(resume={found.id: APPROVE}))
    assert answer_of(result) == "<result>receipt Ann 50</result>"
    assert paid == ["Ann 50"]


async def test_keys_beside_the_decisions_are_ignored(talk: Any) -> None:
    chat = talk(tools=[pay], ptc=["pay"], interrupt_on={"pay": True})
    await chat.turn(PAY)
    assert answer_of(await chat.decide(APPROVE, note=1)) == "<result>receipt Ann 50</result>"
