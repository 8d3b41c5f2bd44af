"""What the commands print, and where."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import pytest

from interpstack import GuestError, Outcome
from interpstack_cli.printing import (
    Problem,
    encodable,
    printable,
    show_outcome,
    standard_output,
    write,
)


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("outcome", "out", "err"),
    [
        (Outcome(text="5"), "5\n", ""),
        (Outcome(text="undefined", undefined=True), "", ""),
        (Outcome(text="5", notices=("so",)), "5\n", "Note: so\n"),
        (
            Outcome(text="5", omitted_chars=3, omitted_exact=False),
            "5\n",
            "Note: more than 3 characters of the result were left out; print less at a time\n",
        ),
        (Outcome(error=GuestError("E", "m", "    at x:1")), "", "E: m\n    at x:1\n"),
    ],
    ids=["value", "statement", "notice", "omitted", "error"],
)
def test_values_and_remarks_go_to_their_streams(
    outcome: Outcome, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_outcome(outcome)
    assert capsys.readouterr() == (out, err)


def test_guest_texts_cannot_command_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a\tb\n\x1b]52;c;aGk=\x07 \x9b2J\r\b\x7f \u202ex\u2066 \u3000\xa0é🏳️\u200d🌈"
    for colour, out in (("", "{}\n"), ("red", "\x1b[31m{}\x1b[0m\n")):
        monkeypatch.setenv("NO_COLOR", "")
        monkeypatch.setattr(sys, "stdout", terminal := Terminal())
        write(text, colour=colour)
        shown = r"\x1b]52;c;aGk=\x07 \x9b2J\r\x08\x7f \u202ex\u2066"
        assert terminal.getvalue() == out.format(f"a\tb\n{shown} \u3000\xa0é🏳️\u200d🌈")
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    show_outcome(Outcome(text="\x1b[2J"))
    assert terminal.getvalue() == "\\x1b[2J\n"
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    error = GuestError("\x1bE", "\x1b[2J", "\x9b1m")
    show_outcome(Outcome(error=error, notices=("\x1b",)))
    Problem("\x1b]0;x\x07").show()
    assert "\x1b" not in re.sub(r"\x1b\[\d+m", "", terminal.getvalue())
    monkeypatch.setattr(sys, "stdout", file := io.StringIO())
    write(text)
    assert file.getvalue() == f"{text}\n"  # programs get what code gave


@pytest.mark.parametrize(
    ("stream", "message"), [(None, "standard output is closed"), (Full(), "No space left")]
)
def test_output_that_cannot_be_written_is_a_problem(
    stream: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(Problem, match=message):
        write("x")
    monkeypatch.setattr(sys, "stderr", stream)
    write("x", err=True)  # nobody is left to be told


def test_colours_are_for_terminals_and_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, expected in (("", "\x1b[31mx\x1b[0m\n"), ("1", "x\n")):
        monkeypatch.setenv("NO_COLOR", value)
        monkeypatch.setattr(sys, "stdout", Terminal())
        write("x", colour="red")
        assert sys.stdout.getvalue() == expected  # type: ignore[attr-defined]


def test_what_a_stream_cannot_encode_is_escaped() -> None:
    assert encodable("\ud800", io.StringIO()) == "\\ud800"


def test_text_for_any_output_has_no_control_characters() -> None:
    assert printable("a\tb\n\x1b[31mred\x07") == "a\tb\n\\x1b[31mred\\x07"


def test_text_has_escapes_for_what_the_output_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert printable("é") == "\\xe9"


def test_a_closed_output_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert standard_output() is sys.stdout
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(Problem, match="standard output is closed; send it to"):
        standard_output()
