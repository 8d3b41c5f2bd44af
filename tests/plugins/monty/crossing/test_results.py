"""Tests of interpstack_monty.crossing.results."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Limits
from interpstack_monty.crossing import results
from interpstack_monty.crossing.results import UNDONE, completion_of, failure_of, shown_chars


def test_more_is_shown_than_the_model_gets() -> None:
    assert shown_chars(Limits(result_chars=10)) == 8192
    assert shown_chars(Limits(result_chars=10_000)) == 20_000


def test_a_cell_without_a_value_is_none() -> None:
    made = completion_of(None, 100)
    assert (made.text, made.undefined, made.error) == ("None", True, None)


def test_the_answer_of_the_kernel_is_taken() -> None:
    made = completion_of("3 1 0 text\n 1", 100)
    assert (made.text, made.omitted_chars, made.handle, made.undefined) == (
        "text\n 1",
        3,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("output", "fields"),
    [
        (f"0 0 0 {'x' * 50}", ("x" * 10, 0, False, False)),
        (f"{'9' * 20} 0 1 x", ("x", 2**31, False, True)),
        ("0 0 0 ", ("", 0, False, False)),
    ],
)
def test_a_forged_answer_is_bounded(output: Any, fields: tuple[Any, ...]) -> None:
    made = completion_of(output, 10)
    assert (made.text, made.omitted_chars, made.handle, made.undefined) == fields


@pytest.mark.parametrize(
    "output",
    [
        5,
        "text",
        ["0 0 0 x"],
        "0 0 x",
        "0 0 2 x",
        "-5 0 0 x",
        f"{'9' * 21} 0 0 x",
        "٣ 0 0 x",
    ],
)
def test_an_answer_of_another_form_fails_the_cell(output: Any) -> None:
    error = completion_of(output, 10).error
    assert error is not None
    assert error.name == "EngineFailure"
    assert "cannot be read" in error.message


@pytest.mark.parametrize(
    ("memory", "allowed"),
    [(64 * 2**20, "used up its memory limit of 64 MiB"), (None, "used up all memory")],
)
def test_too_much_memory_is_reported_with_the_limit(
    monkeypatch: pytest.MonkeyPatch, memory: int | None, allowed: str
) -> None:
    monkeypatch.setattr(results, "is_memory_limit", lambda error: True)
    error = failure_of(ValueError("x"), Limits(memory_bytes=memory))
    assert error.name == "OutOfMemory"
    assert allowed in error.message
    assert error.message.endswith(UNDONE)


def test_other_failures_are_reported_on_one_short_line() -> None:
    error = failure_of(ValueError("it broke\nlike this" + "x" * 1000), Limits())
    assert (error.name, error.message) == ("EngineFailure", f"it broke; {UNDONE}")
    assert len(failure_of(ValueError("x" * 1000), Limits()).message) == 300 + len(f"; {UNDONE}")
