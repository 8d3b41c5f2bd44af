"""The time limit of one cell."""

from __future__ import annotations

from interpstack_js_repl.time_limit import TimeLimit


def test_only_wall_time_is_limited() -> None:
    limit = TimeLimit(30.0, "js_repl")
    assert limit.allowance("cpu_seconds") is None
    left = limit.allowance("wall_seconds")
    assert left is not None
    assert 0 < left <= 30


def test_it_names_itself_where_it_is_the_tightest() -> None:
    limit = TimeLimit(0.5, "js_repl")
    error = limit.exceeded(None, 600.0)
    assert error is not None
    assert (error.name, error.message) == ("Timeout", "js_repl execution timed out after 0.5 s")
    assert limit.exceeded(0.0, 600.0) is None
    assert limit.exceeded(None, -1.0) is None


def test_it_names_itself_without_other_limits() -> None:
    assert TimeLimit(0.0, "js_repl").exceeded(None, None) is not None
