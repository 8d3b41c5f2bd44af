"""Replays as tables for a person, and as data for a program."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from replayed import KEPT, OPEN, PAID, PAUSED, shown
from rich.console import Console

from interpstack_langchain.replay.timeline import RecordedCall
from interpstack_langchain.replay.views import EvalView


def printed(one: EvalView, *, width: int = 120, code: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    one.print(console, code=code)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


# -- data ----------------------------------------------------------------------------------


def test_data_is_json_with_each_event_in_its_place() -> None:
    data = json.loads(json.dumps(shown(PAID, PAUSED, OPEN, KEPT).data(code=False)))
    assert (data["eval"], data["tool_call_id"], data["status"]) == (3, "c", "ended")
    assert [event["kind"] for event in data["timeline"]] == ["call", "pause", "call", "call"]
    paid, pause, waits, kept = data["timeline"]
    assert (paid["answer"], paid["answered"]) == ('"receipt Ann"', 1.25)
    assert pause["waits_for"] == ["approval of pay", "an answer"]
    assert (waits["answer"], kept["answer"]) == (None, "4")


@pytest.mark.parametrize("code", [True, False])
def test_the_code_is_there_only_if_it_is_asked_for(code: bool) -> None:
    assert ("code" in shown().data(code=code)) is code
    assert ("1 + 1" in printed(shown(), code=code)) is code


@pytest.mark.parametrize(("chars", "text"), [(14, '[{"to":"Ann"}]'), (13, '[{"to":"Ann"}…')])
def test_inputs_and_answers_are_cut_to_the_given_length(chars: int, text: str) -> None:
    (event,) = shown(PAID, chars=chars).data(code=False)["timeline"]
    assert event["input"] == text


# -- a terminal ----------------------------------------------------------------------------


def test_a_wide_terminal_has_a_table_and_a_narrow_one_a_list() -> None:
    wide, narrow = (printed(shown(PAID, PAUSED), width=width) for width in (80, 79))
    header = ["step", "called", "answered", "call", "input", "answer", "decision"]
    assert any(line.split() == header for line in wide.splitlines())
    assert not any(line.split() == header for line in narrow.splitlines())
    for text in (wide, narrow):
        assert "1.250 s" in text
        assert "pause 1" in text
        assert "answered" in text
    assert any(line.split() == ["answer", '"receipt', 'Ann"'] for line in narrow.splitlines())


def test_a_call_that_waits_has_no_time_of_its_answer() -> None:
    row = next(line for line in printed(shown(KEPT)).splitlines() if "tools.wait" in line)
    assert row.count(" s ") == 1
    assert "not received" in row


def test_an_eval_without_calls_says_so() -> None:
    text = printed(shown())
    assert "Eval 3 in tools:1, 2026-01-01T00:00:03+00:00, engine quickjs" in text
    assert "no calls are recorded" in text


@pytest.mark.parametrize(
    "status", ["ended", "paused", "in flight", "failed", "diverged", "not begun"]
)
def test_each_status_is_printed_with_its_text(status: str) -> None:
    assert f"{status}: why" in printed(shown(status=status, text="why"))


@pytest.mark.parametrize(("answer", "recorded"), [("2", False), (None, False), ("3", True)])
def test_a_recorded_answer_is_printed_if_it_is_another(answer: Any, recorded: bool) -> None:
    assert ("recorded: 3" in printed(shown(answer=answer))) is recorded


def test_notes_are_printed_one_a_line() -> None:
    text = printed(shown(notes=["Variables are lost.", "No clock."]))
    assert "Note: Variables are lost.\nNote: No clock.\n" in text


def test_text_of_guests_sends_nothing_to_the_terminal() -> None:
    evil = "\x1b]0;owned\x07"
    call = RecordedCall(id=1, bridge=f"b{evil}", input=evil, asked=0.0, answer=evil, kept=True)
    text = printed(
        shown(call, text=evil, answer=f"other {evil}", notes=[evil], code=evil), code=True
    )
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b]0;owned\\x07" in text
