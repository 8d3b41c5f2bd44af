"""One call of a tool from code: who runs it, and what it returned."""

from __future__ import annotations

import threading

import pytest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from interpstack_langchain.tools.native_calls import NativeCall, as_text


def message(content: object) -> ToolMessage:
    return ToolMessage(content, tool_call_id="c")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "ü"}], '[{"type": "text", "text": "ü"}]'),
        ([{1, 2} - {2}], '["{1}"]'),
    ],
)
def test_content_that_is_no_text_is_written_as_json(content: object, text: str) -> None:
    assert as_text(content) == text


def test_a_message_is_unchanged_if_it_says_what_the_tool_s_said() -> None:
    call = NativeCall()
    assert not call.unchanged(message("5")), "the tool has not returned"
    assert call.note(5) == 5
    answer = message("5")
    assert call.note_answer(answer) is answer
    assert call.unchanged(message("5"))
    assert not call.unchanged(message("5 (checked)"))


def test_the_value_none_is_a_value() -> None:
    call = NativeCall()
    call.note(None)
    assert (call.returned, call.value) == (True, None)


def test_an_answer_that_is_no_message_is_compared_with_nothing() -> None:
    call = NativeCall()
    call.note(5)
    command = Command(update={})  # type: ignore[var-annotated]
    assert call.note_answer(command) is command
    assert not call.unchanged(message("5"))


def test_a_call_that_has_not_begun_can_be_left_and_never_begins() -> None:
    call = NativeCall()
    assert not call.leave()
    cancelled = "the eval was cancelled before this call began"
    with pytest.raises(RuntimeError, match=cancelled), call.working():
        raise AssertionError("it runs")
    assert (call.at_work, call.refused) == (0, True)


def test_a_call_that_runs_in_a_thread_or_has_returned_is_not_left() -> None:
    call, begun, end = NativeCall(), threading.Event(), threading.Event()

    def work() -> None:
        with call.working():
            begun.set()
            end.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    assert call.leave()
    end.set()
    thread.join()
    assert not call.leave(), "it has ended without a value"
    call.note("value")
    assert call.leave()


def test_a_tool_that_raises_is_not_at_work_any_more() -> None:
    call = NativeCall()
    with pytest.raises(ValueError, match="no"), call.working():
        raise ValueError("no")
    assert call.at_work == 0


def test_updates_of_an_inner_eval_are_collected_in_order() -> None:
    call = NativeCall()
    first, second = Command(update={"a": 1}), Command(update={"a": 2})  # type: ignore[var-annotated]
    call.pass_on([first])
    call.pass_on([second])
    assert call.commands == [first, second]
