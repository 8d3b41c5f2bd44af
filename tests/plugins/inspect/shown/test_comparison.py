"""Two evals or conversations side by side."""

from __future__ import annotations

from collections.abc import Mapping

from inspected import record, summary

from interpstack_inspect.api import Binding, Conversation, EvalRecord, InnerCall, PauseEvent, Turn
from interpstack_inspect.shown.comparison import (
    Pair,
    Section,
    Side,
    compared_conversations,
    compared_evals,
)


def _sections(left: EvalRecord, right: EvalRecord) -> Mapping[str, Section]:
    return {one.title: one for one in compared_evals(left, right)}


def _call(number: int, bridge: str, given: str, answer: str) -> InnerCall:
    asked = float(number)
    return InnerCall(
        id=number, bridge=bridge, input=given, asked=asked, answered=asked, answer=answer
    )


def _row(row: Pair) -> tuple[str, str | None, str | None]:
    return row.state, row.left and row.left.place, row.right and row.right.place


def _different(side: Side | None) -> list[str]:
    assert side is not None
    return [f"{title}={part.different}" for title, part in side.texts if part.different]


def test_equal_evals_have_no_differences() -> None:
    sections = compared_evals(record(), record())
    assert sections
    for one in sections:
        assert one.differences == 0
        assert one.rows == [Pair("same", equal=one.rows[0].equal)]


def test_calls_are_paired_in_their_order() -> None:
    left = [
        _call(1, "tools.look", "1", '"a"'),
        _call(2, "tools.look", "2", '"b"'),
        _call(3, "tools.pay", '{"amount": 70}', '"paid"'),
    ]
    right = [
        _call(1, "tools.look", "2", '"c"'),
        _call(2, "tools.log", "0", "null"),
        _call(3, "tools.pay", '{"amount": 71}', '"paid"'),
    ]
    calls = _sections(record(events=left), record(events=right))["Calls in order"]
    assert calls.differences == 4
    assert [_row(row) for row in calls.rows] == [
        ("changed", "1 tools.look", "1 tools.look"),
        ("only left", "2 tools.look", None),
        ("only right", None, "2 tools.log"),
        ("changed", "3 tools.pay", "3 tools.pay"),
    ]
    assert _different(calls.rows[-1].left) == ["input=0"]
    assert _different(calls.rows[-1].right) == ["input=1"]


def test_a_call_that_failed_or_was_decided_otherwise_has_changed() -> None:
    one = _call(1, "tools.pay", "1", '"no"')
    failed = InnerCall(
        id=1, bridge="tools.pay", input="1", asked=0.0, answered=5.0, answer='"no"', failed=True
    )
    (row,) = _sections(record(events=[one]), record(events=[failed]))["Calls in order"].rows
    assert row.state == "changed"
    assert _different(row.left) == ['answer="no"']
    assert _different(row.right) == ['error="no"']
    later = InnerCall(id=1, bridge="tools.pay", input="1", asked=9.0, answered=9.5, answer='"no"')
    assert not _sections(record(events=[one]), record(events=[later]))["Calls in order"].differences


def test_code_answer_and_variables() -> None:
    left = record(
        summary=summary(code="const x = 1\nx"),
        answer="<stdout>\none\ntwo\n</stdout>\n<result>1</result>",
        bindings=[Binding(name="x", before=None, after="1")],
    )
    right = record(
        summary=summary(code="const x = 2\nx\ny", status="failed"),
        answer='<stdout>\none\n</stdout>\n<error type="Error">\nno\n</error>',
        bindings=[
            Binding(name="x", before="1", after=None),
            Binding(name="y", before=None, after="[]"),
        ],
    )
    sections = _sections(left, right)
    code = sections["Code"]
    assert [_row(row) for row in code.rows] == [
        ("changed", "1", "1"),
        ("same", "2", "2"),
        ("only right", None, "3"),
    ]
    assert [_row(row) for row in sections["Console"].rows] == [
        ("same", "1", "1"),
        ("only left", "2", None),
    ]
    assert [_row(row) for row in sections["Result"].rows] == [("only left", "1", None)]
    assert [_row(row) for row in sections['Error (type="Error")'].rows] == [
        ("only right", None, "1")
    ]
    assert [_row(row) for row in sections["Variables afterwards"].rows] == [
        ("only left", "x", None),
        ("only right", None, "y"),
    ]
    (state,) = [row for row in sections["State"].rows if row.state == "changed"]
    assert _different(state.right) == ["=fail"]


def test_equal_rows_far_from_a_difference_are_counted_and_too_many_rows_left_out() -> None:
    left = record(summary=summary(code="\n".join(f"line {number}" for number in range(100))))
    code = left.summary.code.replace("line 50", "line fifty")
    section = _sections(left, record(summary=summary(code=code)))["Code"]
    assert [row.equal for row in section.rows] == [47, 0, 0, 0, 0, 0, 0, 0, 46]
    pauses = [PauseEvent(number=at, at=0, waits_for=[str(at)], resumed=True) for at in range(1500)]
    section = _sections(record(events=[]), record(events=pauses))["Calls in order"]
    assert (len(section.rows), section.left_out, section.differences) == (1000, 500, 1500)


def test_conversations_have_their_evals_paired() -> None:
    evals = [summary(number=1), summary(number=2, code="2")]
    left = Conversation(name="a", turns=[Turn(number=1, began="", text="pay", entries=evals)])
    evals = [summary(number=1, code="2", calls=7)]
    right = Conversation(name="b", turns=[Turn(number=1, began="", text="say", entries=evals)])
    inputs, found = compared_conversations(left, right)
    assert _different(inputs.rows[0].left) == ["=p"]
    assert found.differences == 2
    assert [_row(row) for row in found.rows] == [
        ("changed", "Eval 1", "Eval 1"),
        ("only left", "Eval 2", None),
    ]
