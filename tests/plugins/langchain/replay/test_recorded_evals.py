"""Recorded evals of a thread, found in its checkpoints."""

from __future__ import annotations

from typing import Any

import pytest
from recorded_steps import Thread, answer, call

from interpstack import ConfigurationError
from interpstack.guests import NOT_RUN
from interpstack_langchain.evals.answer_marks import REFUSED
from interpstack_langchain.replay.recorded_evals import (
    RecordedEval,
    pick,
    recorded_evals,
    records_before,
)

ENTRIES = [{"version": 3, "began": 1.0}, {"asked": [], "now": 2.0, "settled": []}]


@pytest.fixture
def thread() -> Thread:
    return Thread()


def evals(thread: Thread, *tools: str) -> list[RecordedEval]:
    saver: Any = thread
    return recorded_evals(saver, "t", tools or ("eval",))


def refused(thread: Any, name: str = "t", *tools: str) -> str:
    with pytest.raises(ConfigurationError) as raised:
        recorded_evals(thread, name, tools or ("eval",))
    return str(raised.value)


def test_evals_are_numbered_in_the_order_in_which_they_were_made(thread: Thread) -> None:
    thread.step(call("a", "1"), call("s", name="search", query="x"), call("b", "2"))
    thread.step()
    thread.step(call("a", "3"), namespace="inner:1")
    found = evals(thread)
    assert [(one.number, one.call_id, one.code.source) for one in found] == [
        (1, "a", "1"),
        (2, "b", "2"),
        (3, "a", "3"),
    ]
    assert [list(one.earlier) for one in found] == [[], ["a"], []]
    assert (found[0].began, found[2].namespace) == ("2026-01-01T00:00:01+00:00", "inner:1")
    assert found[2].owner == "thread:t|inner:1"
    assert len({one.key for one in found}) == 3


def test_an_eval_has_its_own_journal_and_answer(thread: Thread) -> None:
    thread.step(
        call("a"), call("b"), writes=answer("b", "<result>2</result>"), journals={"a": ENTRIES}
    )
    first, second = evals(thread)
    assert (first.entries, first.answer) == (ENTRIES, None)
    assert (second.entries, second.answer) == ([], "<result>2</result>")


def test_an_eval_whose_code_was_refused_did_not_begin(thread: Thread) -> None:
    text = f'<error type="TypeError">{NOT_RUN}\n  at cell:1:7: tools has no x</error>'
    thread.step(call("a"), writes=answer("a", text, metadata=REFUSED))
    thread.step(call("b"), writes=answer("b", text))  # the words alone, which code may throw
    assert [one.not_begun for one in evals(thread)] == ["the code was refused before it ran", ""]


def test_an_eval_behind_one_that_has_not_ended_did_not_begin(thread: Thread) -> None:
    thread.step(call("a"), call("b"), call("c"), journals={"c": ENTRIES})
    assert [bool(one.not_begun) for one in evals(thread)] == [False, True, False]
    thread.step(call("a"), call("b"), writes=answer("a", "1"))
    assert not evals(thread)[-1].not_begun


def test_evals_of_several_interpreters_stand_in_the_model_s_order(thread: Thread) -> None:
    thread.step(call("a", name="py", code="1"), call("b"), call("c", name="py", code="2"))
    found = evals(thread, "eval", "py")
    assert [(one.number, one.tool_name) for one in found] == [(1, "py"), (2, "eval"), (3, "py")]
    assert [list(one.earlier) for one in found] == [[], [], ["a"]]


def test_a_thread_that_is_not_there_names_those_that_are() -> None:
    assert "there is no thread 'x'; the database has none" in refused(Thread(), "x")
    thread = Thread("known")
    thread.step()
    assert "there is no thread 'x'; those used last are: known" in refused(thread, "x")


def test_a_thread_without_evals_names_the_tools_that_were_called(thread: Thread) -> None:
    thread.step(call("s", name="search", query="x"))
    message = refused(thread, "t", "eval", "py")
    assert "thread 't' has no call of 'eval' or 'py'; tools called in it: search." in message
    assert "--tool-name" in message
    empty = Thread()
    empty.step()
    assert "tools called in it: none" in refused(empty)


@pytest.mark.parametrize(
    ("number", "picked"), [(None, ["a", "b"]), (1, ["a"]), (2, ["b"]), (-1, ["b"]), (-2, ["a"])]
)
def test_evals_are_picked_by_number_from_either_end(
    thread: Thread, number: int | None, picked: list[str]
) -> None:
    thread.step(call("a"), call("b"))
    assert [one.call_id for one in pick(evals(thread), number)] == picked


@pytest.mark.parametrize("number", [0, 3, -3])
def test_a_number_that_no_eval_has_is_refused(thread: Thread, number: int) -> None:
    thread.step(call("a"), call("b"))
    message = f"--eval {number}: the thread has 2 evals; it takes 1 to 2, or -1 to -2 from the end"
    with pytest.raises(ConfigurationError, match=message):
        pick(evals(thread), number)


def record(number: int, **more: Any) -> dict[str, Any]:
    """A record that needs the one before it."""
    return {"sequence": number, "previous": "token" if number > 1 else "", **more}


def before(thread: Thread, number: int) -> tuple[list[int], list[int]]:
    """The numbers of the records that an eval started from, and of those that it wrote."""
    (found,) = pick(evals(thread), number)
    saver: Any = thread
    earlier, own = records_before(saver, found)
    return [one["sequence"] for one in earlier], [one["sequence"] for one in own]


def test_an_eval_starts_from_the_checkpoint_and_the_evals_before_it(thread: Thread) -> None:
    writes = [
        *answer("a", "1", ("interpreter_record", [record(2)])),
        *answer("b", "2", ("interpreter_record", [record(3)])),
    ]
    thread.step(call("a"), call("b"), writes=writes, values={"interpreter_record": [record(1)]})
    assert before(thread, 1) == ([1], [2])
    assert before(thread, 2) == ([1, 2], [3])


def test_a_thread_without_records_starts_from_nothing(thread: Thread) -> None:
    thread.step(call("a"))
    assert before(thread, 1) == ([], [])


def test_records_of_another_turn_are_left_out(thread: Thread) -> None:
    kept = [record(1, turn="t1"), record(2, turn="t2"), record(3)]
    thread.step(call("a"), values={"interpreter_record": kept, "interpreter_turn": "t2:3"})
    assert before(thread, 1)[0] == [2, 3]


def test_another_interpreter_s_records_are_not_read(thread: Thread) -> None:
    values = {"interpreter_record": [record(1)], "interpreter_record_py": [record(7)]}
    thread.step(call("a", name="py", code="1"), values=values)
    (found,) = evals(thread, "py")
    saver: Any = thread
    assert [one["sequence"] for one in records_before(saver, found)[0]] == [7]
