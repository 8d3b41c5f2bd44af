"""The output's bound, and what becomes of the output when a cell fails."""

from __future__ import annotations

import pytest

from interpstack import InterpreterStack, Limits, Session

BOUNDS = [
    # code, kept, omitted: characters that did not fit, line breaks of dropped lines not counted
    ('console.log("x".repeat(10))', "x" * 10, 0),
    ('console.log("x".repeat(11))', "x" * 10, 1),
    ('console.log("12345678"); console.log("abc")', "12345678\na", 2),
    ('console.log("1234567890"); console.log("abc"); console.log("de")', "1234567890", 7),
    ('console.log("x".repeat(1e6))', "x" * 10, 10**6 - 10),
    ('console.log("%s!", "x".repeat(20), 7)', "x" * 10, 13),
]


def _stack(console_chars: int, **limits: float) -> InterpreterStack:
    given = Limits(console_chars=console_chars, **limits)  # type: ignore[arg-type]
    return InterpreterStack(plugins=["console"], limits=given)


@pytest.mark.parametrize(("code", "kept", "omitted"), BOUNDS)
async def test_the_buffer_is_bounded_and_counts_what_it_drops(
    code: str, kept: str, omitted: int
) -> None:
    async with _stack(10).session() as session:
        outcome = await session.eval(code)
        assert (outcome.console, outcome.console_omitted_chars) == (kept, omitted)
        assert (await session.eval("console.log('next')")).console == "next"


async def test_a_flood_stays_bounded_until_the_time_limit() -> None:
    async with _stack(10, cpu_seconds=0.3).session() as session:
        outcome = await session.eval("for (;;) console.log('0123456789')")
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert outcome.console == "0123456789"
        assert outcome.console_omitted_chars > 0


async def test_large_values_and_tables_are_cut() -> None:
    async with _stack(2_000_000).session() as session:
        outcome = await session.eval("console.log(Array.from({length: 1e5}, (_, i) => i), 'end')")
        assert outcome.console.endswith("… end")
        assert 90_000 < len(outcome.console) < 110_000
        outcome = await session.eval("console.table(Array.from({length: 1500}, (_, i) => i))")
        assert outcome.console.endswith(
            "│ 999     │ 999    │\n└─────────┴────────┘\n… 500 more rows"
        )
        outcome = await session.eval(
            "console.table(new Map([...Array(1001).keys()].map(k => [k, k])))"
        )
        assert outcome.console.endswith("\n… 1 more row")
        outcome = await session.eval("const s = 'x'.repeat(9e5); console.log(s, s, s, s, s)")
        assert len(outcome.console) + outcome.console_omitted_chars == 1_800_003
        assert outcome.console.endswith("x …")


ENDINGS = [
    ("throw new TypeError('no')", "TypeError"),
    ("for (;;) {}", "Timeout"),
    ("console.log({get a() { for (;;) {} }})", "Timeout"),
    ("console.log('%s', {toString() { for (;;) {} }})", "Timeout"),
    ("function f() { return f() + 1 } f()", "RangeError"),
    ("const deep = {get a() { console.log(deep) }}; console.log(deep)", "RangeError"),
    ("await new Promise(() => {})", "Deadlock"),
    ("await Promise.reject(new RangeError('x'))", "RangeError"),
]


@pytest.mark.parametrize(("code", "error"), ENDINGS)
async def test_output_is_kept_whatever_the_end(session: Session, code: str, error: str) -> None:
    await session.eval("var earlier = 41")
    outcome = await session.eval(f"console.log('before', 1); console.warn('é'); {code}")
    assert outcome.error is not None
    assert outcome.error.name == error
    assert outcome.console == "before 1\né"
    after = await session.eval("console.log(earlier + 1)")
    assert after.console == "42"


async def test_output_before_and_after_an_await_comes_in_order(session: Session) -> None:
    outcome = await session.eval(
        "console.log(1); await new Promise(r => setTimeout(r, 1)); console.log(2);"
        "queueMicrotask(() => console.log(3)); await null; console.log(4)"
    )
    assert outcome.console == "1\n2\n3\n4"
