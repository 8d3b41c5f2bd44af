"""A decision counts only for the question that was shown, and its edits fit the tool."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_agents import (
    Approved,
    CallQuestion,
    DecisionNeeded,
    DecisionRejected,
    Denied,
    check_decisions,
    check_edit,
    open_questions,
)

ONE = CallQuestion.of("seed:1", "pay", {"euros": 1})
TWO = CallQuestion.of("seed:2", "pay", {"euros": 1})
SCHEMA = {"properties": {"euros": {"type": "integer"}}, "required": ["euros"]}


def accept(question: CallQuestion, args: Any) -> None:
    check_edit(SCHEMA, args)


def test_a_question_is_known_by_all_that_was_shown() -> None:
    assert CallQuestion.of("seed:1", "pay", {"euros": 1}) == ONE
    others = [
        TWO,
        CallQuestion.of("seed:1", "give", {"euros": 1}),
        CallQuestion.of("seed:1", "pay", {"euros": 2}),
        CallQuestion.of("seed:1", "pay", {"euros": "1"}),
    ]
    assert len({ONE.id, *(other.id for other in others)}) == 5
    assert (
        CallQuestion.of("k", "t", {"a": 1, "b": 2}).id
        == CallQuestion.of("k", "t", {"b": 2, "a": 1}).id
    )


def test_a_question_is_stored_as_plain_data() -> None:
    assert CallQuestion.from_dict(ONE.to_dict()) == ONE
    said = CallQuestion.of("seed:1", "pay", {"euros": 1}, {"limit": 5})
    assert (said.id, CallQuestion.from_dict(said.to_dict())) == (ONE.id, said)
    for wrong in ({}, {"id": "x", "tool": "y", "args": 1}, [], {**ONE.to_dict(), "metadata": 1}):
        with pytest.raises(ConfigurationError, match="a question is stored as"):
            CallQuestion.from_dict(wrong)  # type: ignore[arg-type]


def test_a_text_that_cannot_be_stored_is_shown_escaped() -> None:
    one, other = (CallQuestion.of("k", "pay", {"to": to}) for to in ("a\ud83d", r"a\ud83d"))
    assert one.args == {"to": {"$escaped": r"a\ud83d"}}
    assert other.args == {"to": r"a\ud83d"}
    assert one.id != other.id
    seen: list[Any] = []
    check_decisions([one], {one.id: Approved(one.args)}, lambda _, args: seen.append(args))
    assert seen == [{"to": "a\ud83d"}]


@pytest.mark.parametrize("value", [{"\ud800": 1}, object(), {1, 2}])
def test_nobody_is_asked_about_what_cannot_be_shown(value: Any) -> None:
    with pytest.raises(ValueError, match="have no JSON form"):
        CallQuestion.of("seed:1", "pay", {"value": value})


def test_one_decision_for_each_question_is_right() -> None:
    check_decisions([], {}, accept)
    check_decisions([ONE, TWO], {ONE.id: Approved(), TWO.id: Denied("no")}, accept)
    check_decisions([ONE], {ONE.id: Approved({"euros": 5})}, accept)


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ({}, f"a decision is missing for {ONE.id}"),
        ({ONE.id: Approved(), TWO.id: Approved()}, f"there is no open question '{TWO.id}'"),
        ({ONE.id: Approved({"pounds": 1})}, "the tool has no field 'pounds'"),
        ({ONE.id: Approved({})}, "the tool requires euros"),
    ],
)
def test_other_decisions_are_refused_and_name_the_open_questions(
    decisions: Any, message: str
) -> None:
    with pytest.raises(DecisionRejected) as caught:
        check_decisions([ONE], decisions, accept)
    assert message in str(caught.value)
    assert f'open questions: {ONE.id}: pay({{"euros": 1}})' in str(caught.value)


def test_paused_calls_are_asked_about_in_one_exception() -> None:
    error = open_questions([DecisionNeeded([ONE]), DecisionNeeded([TWO])])
    assert isinstance(error, DecisionNeeded)
    assert error.questions == (ONE, TWO)
    other = OSError("broken")
    assert open_questions([DecisionNeeded([ONE]), other]) is other
