"""Open questions of a thread."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langgraph.types import Interrupt
from recorded_steps import Thread, call

from interpstack_inspect.api import AskedCall, Question
from interpstack_langchain.inspecting.questions import questions_of, run_questions_of
from interpstack_langchain.replay.recorded_evals import recorded_steps

APPROVAL = {
    "action_requests": [{"name": "pay", "args": {"to": "Ann"}, "description": "Pays."}],
    "review_configs": [{"action_name": "pay", "allowed_decisions": ["approve", "reject"]}],
}


def asked(*values: Any, namespace: str = "") -> list[Question]:
    """The questions of a thread whose last step asks for values."""
    thread = Thread()
    thread.step(call("a"), writes=[("task", "__interrupt__", [Interrupt("earlier", id="0")])])
    writes = [
        (f"task {n}", "__interrupt__", [Interrupt(value, id=str(n))])
        for n, value in enumerate(values, 1)
    ]
    thread.step(call("b"), writes=writes, namespace=namespace)
    saver: Any = thread
    return questions_of(recorded_steps(saver, "t"))


def test_a_long_question_is_shown_whole_since_an_answer_counts_for_what_was_shown() -> None:
    long = "x" * 200_000 + "the end"
    (one,) = asked(long)
    (of_a_run,) = run_questions_of([{"id": "q", "question": long}])
    assert (one.text, of_a_run.text) == (f'"{long}"', long)


def test_an_approval_of_calls() -> None:
    (one,) = asked({**APPROVAL, "still_running": [{"name": "tools.slow", "input": "{}"}]})
    (shown,) = one.calls
    assert shown == AskedCall(
        name="pay",
        args='{\n  "to": "Ann"\n}',
        description="Pays.",
        allowed=["approve", "reject"],
    )
    assert (one.id, one.text, one.still_running) == ("1", "", ["tools.slow({})"])


def test_a_refused_decision_has_its_reason() -> None:
    (one,) = asked({**APPROVAL, "refused": ["no such tool"]})
    assert one.calls[0].refused == "no such tool"


@pytest.mark.parametrize(
    ("review", "allowed"),
    [
        ([{"action_name": "other", "allowed_decisions": ["edit"]}], 4),
        ([{"action_name": "pay", "allowed_decisions": "all"}], 4),
        ("none", 4),
        ([{"action_name": "x"}, {"action_name": "pay", "allowed_decisions": ["edit"]}], 1),
    ],
)
def test_decisions_by_the_name_of_the_call(review: Any, allowed: int) -> None:
    (one,) = asked({**APPROVAL, "review_configs": review})
    assert len(one.calls[0].allowed) == allowed


@pytest.mark.parametrize("value", ["sure?", 3, None, {"action_requests": "x"}, {"a": [1]}])
def test_a_question_of_another_form_is_json(value: Any) -> None:
    (one,) = asked(value)
    assert one.calls == []
    assert json.loads(one.text) == value


def test_questions_are_those_of_the_last_outer_step_each_once() -> None:
    assert [one.text for one in asked("a", "b")] == ['"a"', '"b"']
    assert [one.text for one in asked("inner", namespace="tools:1")] == ['"earlier"']
    assert questions_of([]) == []
    thread = Thread()
    twice = [(task, "__interrupt__", [Interrupt("a", id="1")]) for task in ("t", "u")]
    thread.step(call("a"), writes=twice)
    saver: Any = thread
    assert len(questions_of(recorded_steps(saver, "t"))) == 1


def test_a_digest_covers_all_that_is_asked() -> None:
    other = {**APPROVAL, "action_requests": [{"name": "pay", "args": {"to": "Eve"}}]}
    digests = {asked(value)[0].digest for value in (APPROVAL, other, "x")}
    assert len(digests) == 3
    assert asked(APPROVAL)[0].digest in digests


def test_a_question_whose_task_has_ended_is_closed_while_another_is_open() -> None:
    thread = Thread()
    first = ("t", "__interrupt__", [Interrupt("a", id="1")])
    second = ("u", "__interrupt__", [Interrupt("b", id="2")])
    done = [("t", "__resume__", ["yes"]), ("t", "messages", [])]
    thread.step(call("a"), writes=[first, second, *done])
    saver: Any = thread
    assert [one.id for one in questions_of(recorded_steps(saver, "t"))] == ["2"]


def test_questions_and_approvals_of_a_run() -> None:
    ask = {"id": "root/ask:1", "kind": "ask", "question": "Ship?", "options": {"choices": ["y"]}}
    call_ = {"id": "i.0", "tool": "pay", "args": {"a": 1}, "decisions": ["approve"], "fault": "no"}
    approval = {"id": "x:1", "kind": "approval", "approvals": [call_, {"id": "j", "value": "Who?"}]}
    first, second = run_questions_of([ask, approval])
    assert (first.text, first.choices, first.calls) == ("Ship?", ["y"], [])
    assert [(one.id, one.name, [*one.allowed], one.refused) for one in second.calls] == [
        ("i.0", "pay", ["approve"], "no"),
        ("j", "", ["answer"], ""),
    ]
    changed = {**ask, "question": "Ship it all?"}
    assert run_questions_of([changed])[0].digest != first.digest
