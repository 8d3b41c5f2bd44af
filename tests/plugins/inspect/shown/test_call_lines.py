"""Lines that may have made a call."""

from __future__ import annotations

import pytest

from interpstack_inspect.shown.call_lines import call_lines, calls_of_lines


@pytest.mark.parametrize(
    ("line", "bridge", "named"),
    [
        ("await tools.pay({})", "tools.pay", True),
        ("tools.payAll({})", "tools.pay", False),
        ("mytools.pay({})", "tools.pay", False),
        ("a.tools.pay({})", "tools.pay", False),
        ('tools["pay"]({})', "tools.pay", True),
        ("tools[ 'pay' ]", "tools.pay", True),
        ("task('x')", "task", True),
        ("const subtask = 1", "task", False),
        ("pay({})", "tools.pay", True),
        ("repay({})", "tools.pay", False),
        ("await tools.$pay()", "tools.$pay", True),
        ("x.sleep(1)", "timer", False),
    ],
)
def test_a_line_names_a_bridge(line: str, bridge: str, named: bool) -> None:
    assert call_lines(f"\n{line}", [bridge]) == {bridge: [2] if named else []}


def test_a_function_taken_out_counts_only_without_its_full_name() -> None:
    assert call_lines("tools.pay()\npay()", ["tools.pay"]) == {"tools.pay": [1]}


def test_counts_by_line() -> None:
    lines = call_lines("tools.a(); tools.b()\ntools.a()", ["tools.a", "tools.b", "tools.c"])
    made = ["tools.a", "tools.a", "tools.b", "tools.c"]
    assert calls_of_lines(lines, made) == {1: {"tools.a": 2, "tools.b": 1}, 2: {"tools.a": 2}}
