"""Interrupts as approvals, and decisions on them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.types import Interrupt

from interpstack_langchain.workflows.agents.approvals import UnfitDecisions, answers, approvals

_BATCH = Interrupt(
    {
        "action_requests": [
            {"name": "pay", "args": {"amount": 1}, "description": "Pay?"},
            {"name": "mail", "args": {}},
        ],
        "review_configs": [
            {"action_name": "pay", "allowed_decisions": ["approve", "edit", "reject"]},
            {"action_name": "mail", "allowed_decisions": ["approve", "respond"]},
        ],
    },
    id="a",
)
_PLAIN = Interrupt({"q": "Which?", "of": {1, 2}, "by": object}, id="b")


def test_a_call_of_a_tool_is_an_approval() -> None:
    assert approvals([_BATCH], 3) == [
        {
            "id": "a.3.0",
            "tool": "pay",
            "args": {"amount": 1},
            "description": "Pay?",
            "decisions": ["approve", "edit", "reject"],
        },
        {
            "id": "a.3.1",
            "tool": "mail",
            "args": {},
            "description": "",
            "decisions": ["approve", "respond"],
        },
    ]


def test_each_call_of_one_tool_allows_the_decisions_of_its_own_rule() -> None:
    batch = Interrupt(
        {
            "action_requests": [{"name": "pay", "args": {"n": n}} for n in range(3)],
            "review_configs": [
                {"action_name": "pay", "allowed_decisions": ["approve", "reject"]},
                {"action_name": "pay", "allowed_decisions": ["approve"]},
            ],
        },
        id="a",
    )
    allowed = [one["decisions"] for one in approvals([batch], 0)]
    assert allowed == [["approve", "reject"], ["approve"], ["approve", "reject"]]
    given = {"a.0.0": {"type": "reject"}, "a.0.1": {"type": "reject"}, "a.0.2": "approve"}
    with pytest.raises(UnfitDecisions) as raised:
        answers([batch], 0, given)
    assert list(raised.value.faults) == ["a.0.1"]


def test_another_interrupt_is_shown_as_json() -> None:
    (shown,) = approvals([_PLAIN], 0)
    assert shown["id"] == "b.0"
    assert shown["value"]["q"] == "Which?"
    assert sorted(shown["value"]["of"]) == [1, 2]
    assert isinstance(shown["value"]["by"], str)


def test_decisions_become_answers() -> None:
    edit = {"type": "edit", "edited_action": {"args": {"amount": 2}}}
    given = {"a.0.0": edit, "a.0.1": "approve", "b.0": ["any", "value"]}
    assert answers([_BATCH, _PLAIN], 0, given) == {
        "a": {
            "decisions": [
                {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 2}}},
                {"type": "approve"},
            ]
        },
        "b": ["any", "value"],
    }
    said = {"a.0.0": {"type": "reject", "message": "no"}, "a.0.1": {"type": "approve"}}
    assert answers([_BATCH], 0, said) == {"a": {"decisions": [said["a.0.0"], {"type": "approve"}]}}


def test_a_decision_on_an_earlier_question_is_none_on_this_one() -> None:
    given = {"a.0.0": "approve", "a.0.1": "approve"}
    assert answers([_BATCH], 1, given) is None
    assert answers([_BATCH], 0, {"a.0.0": "approve"}) is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("sing", "pay can be decided with approve, edit, reject; got 'sing'"),
        (None, "pay can be decided with approve, edit, reject; got None"),
        ({"type": ["approve"]}, "pay can be decided with approve"),
        ({"type": "respond", "message": "x"}, "pay can be decided with approve, edit, reject"),
        ({"type": "approve", "args": {}}, 'the decision to approve pay takes "type"; got'),
        (
            {"type": "reject", "message": 3},
            'reject pay with a "message" of text, or without one',
        ),
        ({"type": "edit"}, 'edit pay with "edited_action": {"name"'),
        ({"type": "edit", "edited_action": {"args": 1}}, 'edit pay with "edited_action"'),
    ],
)
def test_a_decision_that_does_not_fit_is_reported_with_its_approval(given: Any, why: str) -> None:
    with pytest.raises(UnfitDecisions) as raised:
        answers([_BATCH], 0, {"a.0.0": given, "a.0.1": "approve"})
    assert raised.value.faults["a.0.0"].startswith(why)
    shown = approvals([_BATCH], 0, raised.value.faults)
    assert [("fault" in one) for one in shown] == [True, False]


def test_approvals_of_calls_one_by_one() -> None:
    value = {"type": "tool_approval", "tool_call_id": "c", "name": "pay", "args": {"n": 1}}
    schema = {"oneOf": [{"properties": {"type": {"const": "approve", "type": "string"}}}]}
    for known, expected in (
        (schema, ["approve"]),
        (None, ["approve", "edit", "reject", "respond"]),
    ):
        # Releases of LangGraph without schemas have no such attribute.
        interrupt = SimpleNamespace(
            value={**value, "description": "d"}, id="c", response_schema=known
        )
        (shown,) = approvals([interrupt], 0)
        assert (shown["tool"], shown["args"], shown["decisions"]) == ("pay", {"n": 1}, expected)
        assert answers([interrupt], 0, {"c.0": "approve"}) == {"c": {"type": "approve"}}


def test_approvals_have_a_size() -> None:
    with pytest.raises(ValueError, match="1048576 can be stored"):
        approvals([Interrupt("x" * (1 << 20), id="b")], 0)
