"""Waits end by messages and by time, each once."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.runs.verbs.waits import Wait, Waits, check_answer
from interpstack_workflows.stores.records import Message


class _Ends(list[tuple[str, int, Any]]):
    def wait(self, wait_id: str, kind: str, **fields: Any) -> Wait:
        def ended(number: int, message: Message | None) -> None:
            self.append((wait_id, number, None if message is None else message.value))

        return Wait(id=wait_id, kind=kind, since=1.0, ended=ended, **fields)


def _signal(name: str, value: Any) -> Message:
    return Message(kind="signal", name=name, value=value)


def test_a_signal_ends_one_wait_even_if_it_came_before() -> None:
    ends, waits = _Ends(), Waits()
    waits.take([(1, _signal("go", "a")), (2, _signal("other", "b")), (3, _signal("go", "c"))])
    for wait_id in ("r/1", "r/2", "r/3"):
        waits.open(ends.wait(wait_id, "signal", awaited="go"))
    assert ends == [("r/1", 1, "a"), ("r/2", 3, "c")]
    waits.take([(4, _signal("go", "d"))])
    assert ends[2:] == [("r/3", 4, "d")]
    assert not waits


def test_signals_of_recorded_steps_are_not_used_again() -> None:
    ends, waits = _Ends(), Waits(used=[1])
    waits.take([(1, _signal("go", "a")), (2, _signal("go", "b"))])
    waits.open(ends.wait("r/1", "signal", awaited="go"))
    assert ends == [("r/1", 2, "b")]


def test_answers_go_to_their_question() -> None:
    ends, waits = _Ends(), Waits()
    waits.open(ends.wait("r/1", "ask", view={"question": "?"}))
    waits.open(ends.wait("r/2", "approval"))
    waits.take([(1, Message(kind="answer", id="r/2", value="yes"))])
    assert ends == [("r/2", 1, "yes")]
    assert waits.to_json() == [{"id": "r/1", "kind": "ask", "since": 1.0, "question": "?"}]


def test_times_end_waits_in_their_order() -> None:
    ends, waits = _Ends(), Waits()
    waits.open(ends.wait("r/1", "sleep", wake_at=9.0))
    waits.open(ends.wait("r/2", "sleep", wake_at=5.0))
    waits.open(ends.wait("r/3", "signal", awaited="go"))
    assert waits.wake_at == 5.0
    assert [wait.id for wait in waits.expired(4.0)] == []
    assert [wait.id for wait in waits.expired(9.0)] == ["r/2", "r/1"]
    assert waits.wake_at is None
    assert waits


def test_a_scope_that_ends_takes_its_waits_along() -> None:
    ends, waits = _Ends(), Waits()
    for wait_id in ("root/a/1", "root/a/b/2", "root/ab/3"):
        waits.open(ends.wait(wait_id, "signal", awaited="go"))
    waits.close_scope("root/a")
    assert [wait["id"] for wait in waits.to_json()] == ["root/ab/3"]


def test_answers_that_nobody_wants_are_refused() -> None:
    asked = {"id": "r/1", "kind": "ask", "question": "Ship?", "options": {"choices": ["y", "n"]}}
    with pytest.raises(
        WorkflowError, match=r"no open question 'r/2'; open questions: r/1 \(Ship\?\)"
    ):
        check_answer("run_a", "r/2", "y", [asked, {"id": "r/2", "kind": "sleep"}])
    with pytest.raises(WorkflowError, match=r"'x' is not one of the choices: \['y', 'n'\]"):
        check_answer("run_a", "r/1", "x", [asked])
    check_answer("run_a", "r/1", "n", [asked])
    with pytest.raises(WorkflowError, match="open questions: none"):
        check_answer("run_a", "r/1", "n", [])


@pytest.mark.parametrize(
    ("choices", "answer", "fits"),
    [
        ([1, 2], True, False),
        ([0], False, False),
        ([True], 1, False),
        ([{"pay": 1}], {"pay": True}, False),
        ([[0]], [False], False),
        ([1, 2], 1.0, True),
        ([True, 1], True, True),
    ],
)
def test_choices_are_compared_as_json(choices: list[Any], answer: Any, fits: bool) -> None:
    asked = {"id": "r/1", "kind": "ask", "question": "Ship?", "options": {"choices": choices}}
    refused = pytest.raises(WorkflowError, match="is not one of the choices")
    with contextlib.nullcontext() if fits else refused:
        check_answer("run_a", "r/1", answer, [asked])
