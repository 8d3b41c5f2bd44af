"""Decisions are checked as a whole, before one of them is used."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import tool

from interpstack_langchain.rules.decisions import Editable, decisions


@tool
def pay(euros: int) -> str:
    """Pay."""
    return str(euros)


@tool("pay")
def own_pay(cents: int) -> str:
    """Pay."""
    return str(cents)


@tool("eval")
def run(code: str) -> str:
    """Run."""
    return code


AGENT = Editable(own=[], agent=[pay, run], eval_name="eval")
OWN = Editable(own=[own_pay], agent=[run], eval_name="eval")


def question(name: str = "pay", allowed: tuple[str, ...] = ("approve", "edit")) -> dict[str, Any]:
    action = {"name": name, "args": {}}
    return {
        "digest": "d",
        "payload": {
            "action_requests": [action],
            "review_configs": [{"action_name": name, "allowed_decisions": list(allowed)}],
        },
    }


def edit(args: Any, **more: Any) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": "pay", "args": args, **more}}


def why(questions: dict[str, Any], answer: Any, editable: Editable) -> str:
    """The reason to refuse the only decision."""
    found = decisions(questions, answer, editable)
    assert not found.made
    (reason,) = found.refused.values()
    return reason


def test_decisions_are_noted_with_their_questions() -> None:
    found = decisions(
        {"1": question(), "2": question()},
        {"decisions": [{"type": "approve"}, edit({"euros": 7}, description="Pay")]},
        AGENT,
    )
    about = {"digest": "d", "shown": "pay"}
    assert found.made == {
        "1": {"type": "approve", **about, "message": None},
        "2": {"type": "edit", **about, "name": "pay", "args": {"euros": 7}},
    }
    assert not found.refused


def test_one_wrong_decision_leaves_the_others() -> None:
    found = decisions(
        {"1": question(), "2": question(), "3": question()},
        {"decisions": [{"type": "approve"}, edit({}), edit({"euros": 7})]},
        AGENT,
    )
    assert list(found.made) == ["1", "3"]
    assert list(found.refused) == ["2"]
    assert "euros: Field required" in found.refused["2"]


@pytest.mark.parametrize("answer", [None, {"decisions": [{"type": "approve"}]}, {"decisions": 1}])
def test_an_answer_of_another_form_decides_nothing(answer: Any) -> None:
    found = decisions({"1": question(), "2": question()}, answer, AGENT)
    assert not found.made
    assert list(found.refused) == ["1", "2"]


def test_the_tool_that_code_has_decides_on_an_edit_that_keeps_it() -> None:
    assert decisions({"1": question()}, {"decisions": [edit({"cents": 1})]}, OWN).made
    reason = why({"1": question()}, {"decisions": [edit({})]}, OWN)
    assert "cents: Field required" in reason


def test_an_edit_has_no_field_that_the_tool_would_drop() -> None:
    reason = why({"1": question()}, {"decisions": [edit({"euros": 1, "currency": "CHF"})]}, AGENT)
    assert reason.endswith("it has no field 'currency'; its fields are: euros")


def test_an_edit_cannot_change_to_a_tool_that_only_code_has() -> None:
    reason = why({"1": question("mail")}, {"decisions": [edit({"cents": 1})]}, OWN)
    assert reason.endswith("'pay', which is not a tool; the agent has: none beside eval")


def test_a_refused_edit_names_the_tool_of_the_call_among_those_that_fit() -> None:
    wrong = {"type": "edit", "edited_action": {"name": "pya", "args": {}}}
    reason = why({"1": question()}, {"decisions": [wrong]}, OWN)
    assert reason.endswith("'pya', which is not a tool; the agent has: pay")


def test_a_tool_that_the_agent_has_no_more_is_left_to_the_call() -> None:
    assert decisions({"1": question("mail")}, {"decisions": [
        {"type": "edit", "edited_action": {"name": "mail", "args": {}}}
    ]}, AGENT).made  # fmt: skip
