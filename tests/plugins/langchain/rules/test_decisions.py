"""Decisions are checked as a whole, before one of them is used."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import tool

from interpstack_langchain.rules.approvals import UnfitAnswer
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


def test_decisions_are_noted_with_their_questions() -> None:
    made = decisions(
        {"1": question(), "2": question()},
        {"decisions": [{"type": "approve"}, edit({"euros": 7}, description="Pay")]},
        AGENT,
    )
    about = {"digest": "d", "shown": "pay"}
    assert made == {
        "1": {"type": "approve", **about, "message": None},
        "2": {"type": "edit", **about, "name": "pay", "args": {"euros": 7}},
    }


def test_one_wrong_decision_refuses_all() -> None:
    with pytest.raises(UnfitAnswer, match="euros: Field required"):
        decisions(
            {"1": question(), "2": question()},
            {"decisions": [{"type": "approve"}, edit({})]},
            AGENT,
        )


def test_the_tool_that_code_has_decides_on_an_edit_that_keeps_it() -> None:
    assert decisions({"1": question()}, {"decisions": [edit({"cents": 1})]}, OWN)
    with pytest.raises(UnfitAnswer, match="cents: Field required"):
        decisions({"1": question()}, {"decisions": [edit({"euros": 1})]}, OWN)


def test_an_edit_cannot_change_to_a_tool_that_only_code_has() -> None:
    with pytest.raises(UnfitAnswer, match=r"'pay', which is no tool; the agent has: $"):
        decisions({"1": question("mail")}, {"decisions": [edit({"cents": 1})]}, OWN)


def test_a_tool_that_the_agent_has_no_more_is_left_to_the_call() -> None:
    assert decisions({"1": question("mail")}, {"decisions": [
        {"type": "edit", "edited_action": {"name": "mail", "args": {}}}
    ]}, AGENT)  # fmt: skip
