"""Kinds of limits, and names of errors in metrics."""

from __future__ import annotations

import pytest

from interpstack import GuestError, Outcome, Settlement
from interpstack_otel.limits import limit_of, limit_of_call, limits_hit, metric_error


def ended(name: str, **fields: object) -> Outcome:
    return Outcome(error=GuestError(name, "message"), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "time", "hits"),
    [
        (Outcome(), None, ()),
        (ended("Timeout", stopped=True), "wall_seconds", ("wall_seconds",)),
        (ended("Timeout", stopped=True), None, ("cpu_seconds",)),
        (ended("OutOfMemory", stopped=True), None, ("memory_bytes",)),
        (ended("OutOfMemory"), None, ()),  # thrown by code under that name
        (
            Outcome(omitted_chars=1, console_omitted_chars=2),
            None,
            ("result_chars", "console_chars"),
        ),
    ],
)
def test_limits_that_an_eval_ran_into(outcome: Outcome, time: object, hits: object) -> None:
    assert limits_hit(outcome, time, computed=True) == hits  # type: ignore[arg-type]


def test_a_budget_that_is_used_up_before_any_code_ran() -> None:
    refused = ended("BudgetExceeded")
    assert limits_hit(refused, None, computed=False) == ("budget",)
    assert limits_hit(refused, None, computed=True) == ()


def test_output_that_is_cut_ends_no_eval() -> None:
    assert limit_of(ended("Error"), ("console_chars", "budget")) == "budget"
    assert limit_of(ended("Error"), ("console_chars",)) is None
    assert limit_of(Outcome(), ("budget",)) is None


def test_only_a_refused_call_ran_into_a_limit() -> None:
    error = GuestError("CallBudgetExceeded", "one more")
    assert limit_of_call(Settlement(1, error=error, refused=True)) == "requests"
    assert limit_of_call(Settlement(1, error=error)) is None
    assert limit_of_call(Settlement(1)) is None


def test_metrics_show_no_name_that_code_chose() -> None:
    assert metric_error("TypeError") == {"error.type": "TypeError"}
    assert metric_error("Error of user 17") == {"error.type": "_OTHER"}
    assert metric_error(None) == {}
