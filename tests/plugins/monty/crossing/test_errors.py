"""Tests of interpstack_monty.crossing.errors: errors on their way in and out."""

from __future__ import annotations

from typing import Any

import fake_monty
import pytest
from fake_monty import MontyError, MontyRuntimeError, MontySyntaxError, frame

from interpstack import GuestError
from interpstack_monty.crossing import errors
from interpstack_monty.crossing.errors import (
    describe,
    exception_for,
    fault,
    is_memory_limit,
    is_time_limit,
    syntax_error,
    thrown,
)
from interpstack_monty.crossing.named_errors import NamedErrors


@pytest.fixture(autouse=True)
def _client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "pydantic_monty", fake_monty.CLIENT)


def _described(error: Any, named: NamedErrors | None = None, lines: int = 10) -> GuestError:
    return describe(error, "cell", named or NamedErrors(), lines)


@pytest.mark.parametrize("name", ["ValueError", "KeyError", "TimeoutError", "Exception"])
def test_exceptions_of_pythons_own_keep_their_class(name: str) -> None:
    named = NamedErrors()
    made = exception_for(GuestError(name, "no"), named)
    assert (type(made).__name__, made.args) == (name, ("no",))
    assert named.to_data() == []


@pytest.mark.parametrize("name", ["ToolError", "KeyboardInterrupt", "SystemExit", "object", ""])
def test_other_names_come_before_the_message(name: str) -> None:
    named = NamedErrors()
    assert thrown(GuestError(name, "no"), named) == {
        "exc_type": "RuntimeError",
        "message": f"{name}: no",
    }
    assert named.parts(f"{name}: no") == (name, "no")


def test_halves_of_surrogate_pairs_in_an_error_are_written_as_escapes() -> None:
    assert thrown(GuestError("ValueError", "a\ud800b"))["message"] == r"a\ud800b"
    assert thrown(GuestError("Tool\udfffError", "x"))["message"] == r"Tool\udfffError: x"


def test_a_source_that_is_refused_has_a_line() -> None:
    refused = syntax_error("no such thing", "cell", 3)
    assert refused == GuestError("SyntaxError", "no such thing", stack="  at cell:3 in <module>")


def test_an_error_of_the_cell_has_name_message_and_frames() -> None:
    frames = [frame(4), frame(2, function_name="f"), frame(1, "<python-input-0>"), frame(7, "<x>")]
    found = _described(MontyRuntimeError(ValueError("no: not so"), *frames))
    assert (found.name, found.message) == ("ValueError", "no: not so")
    assert found.stack.splitlines() == [
        "  at cell:4 in <module>",
        "  at cell:2 in f",
        "  at a string:7 in <module>",
    ]


def test_frames_of_earlier_cells_and_lines_beyond_the_source() -> None:
    frames = [frame(9), frame(3, "<python-input-0>"), frame(5, "<python-input-7>")]
    found = _described(MontyRuntimeError(ValueError("no"), *frames), lines=8)
    assert found.stack.splitlines() == [
        "  at cell:8 in <module>",
        "  at an earlier cell:5 in <module>",
    ]


def test_repeated_and_many_frames_are_shortened() -> None:
    same = _described(MontyRuntimeError(ValueError("no"), *[frame(1)] * 1000))
    assert same.stack == "  at cell:1 in <module> (1000 times)"
    many = _described(MontyRuntimeError(ValueError("no"), *map(frame, range(1, 26))), lines=99)
    lines = many.stack.splitlines()
    assert (len(lines), lines[10]) == (21, "  … 5 more")
    assert (lines[0], lines[-1]) == ("  at cell:1 in <module>", "  at cell:25 in <module>")
    whole = _described(MontyRuntimeError(ValueError("no"), *map(frame, range(1, 21))), lines=99)
    assert len(whole.stack.splitlines()) == 20


def test_texts_of_a_guest_are_bounded() -> None:
    found = _described(MontyRuntimeError(ValueError("x" * 100_000)))
    assert len(found.message) == 16_384


def test_only_errors_that_the_host_threw_get_their_names_back() -> None:
    named = NamedErrors()
    exception_for(GuestError("ToolError", "no: such"), named)
    again = _described(MontyRuntimeError(RuntimeError("ToolError: no: such"), frame(1)), named)
    assert (again.name, again.message) == ("ToolError", "no: such")
    forged = _described(MontyRuntimeError(RuntimeError("ToolError: other"), frame(1)), named)
    assert (forged.name, forged.message) == ("RuntimeError", "ToolError: other")


def test_what_monty_cannot_run_is_reported_without_its_own_words() -> None:
    inner = RuntimeError("Internal error in monty: SystemExit(3)")
    assert _described(MontyRuntimeError(inner)).message == "SystemExit(3)"
    assert _described(MontyRuntimeError(inner, frame(1))).message.startswith("Internal error")


def test_a_syntax_error_is_one_whatever_it_wraps() -> None:
    found = _described(MontySyntaxError(ValueError("bad: token"), frame(2)))
    assert (found.name, found.message) == ("SyntaxError", "bad: token")


@pytest.mark.parametrize(
    ("given", "column", "place"),
    [
        ("  b = = 2", 7, (2, 7)),
        ("b = = 2", 5, (2, 7)),  # Monty takes the margin away
        ("something else", 4, (2, 4)),
        ("something else", 99, (2, 10)),
        ("  b = = 2", 0, (2, 1)),
        (None, 3, (2, 3)),
    ],
)
def test_the_place_of_a_syntax_error(
    given: str | None, column: int, place: tuple[int, int]
) -> None:
    error: Any = MontySyntaxError(ValueError("x"), frame(2, source_line=given, column=column))
    found = fault(error, "a = 1\n  b = = 2\n")
    assert found is not None
    assert (found.line, found.column) == place


@pytest.mark.parametrize(
    "error",
    [
        MontySyntaxError(ValueError("x")),
        MontySyntaxError(ValueError("x"), frame(0)),
        MontySyntaxError(ValueError("x"), frame(9)),
        MontyRuntimeError(ValueError("x"), frame(1)),
    ],
)
def test_errors_without_a_place_in_the_source(error: Any) -> None:
    assert fault(error, "a\nb") is None


TIME = "feed time limit exceeded: 5s > 5s"
MEMORY = "memory limit exceeded: 10 bytes > 5 bytes"


@pytest.mark.parametrize(
    ("error", "time", "memory"),
    [
        (MontyError(TimeoutError(TIME)), True, False),
        (MontyError(ValueError(TIME)), False, False),
        (MontyError(TimeoutError(f"{TIME} or so")), False, False),
        (TimeoutError(TIME), False, False),
        (MontyError(MemoryError(MEMORY)), False, True),
        (
            MontyError(MemoryError("the worker exceeded its memory limit and was terminated")),
            False,
            True,
        ),
        (MontyError(MemoryError("memory")), False, False),
        (MemoryError(MEMORY), False, False),
    ],
)
def test_limits_are_known_by_class_and_wording(error: Exception, time: bool, memory: bool) -> None:
    assert (is_time_limit(error), is_memory_limit(error)) == (time, memory)
