"""The output's bound, and what becomes of the output when a cell fails."""

from __future__ import annotations

import pytest

from interpstack import InterpreterStack, Limits, Session, bridge

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
    async with _stack(10, cpu_seconds=0.5).session() as session:
        outcome = await session.eval("for (;;) console.log('0123456789')")
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert outcome.console == "0123456789"
        assert outcome.console_omitted_chars > 0


async def test_output_has_its_own_bound_whatever_its_characters_take() -> None:
    limits = Limits(value_bytes=1_000)
    async with InterpreterStack(plugins=["console"], limits=limits).session() as session:
        outcome = await session.eval(r"console.log('\u6f22'.repeat(3_900))")
        assert outcome.console == "\u6f22" * 3_900


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
async def test_output_is_kept_whatever_the_end(code: str, error: str) -> None:
    async with _stack(1000, cpu_seconds=0.5 if error == "Timeout" else 20.0).session() as session:
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


PRINTED = {
    "an empty line and wide characters": (
        "console.log(''); console.log('é€😀'); console.log('\\ud800')"
    ),
    "a text of several pieces": "console.log('x'.repeat(5000)); console.log('€'.repeat(501))",
    "lines as long as a piece": "for (const n of [498, 499, 500, 501]) console.log('y'.repeat(n))",
    "joined and cut texts": (
        "let t = ''; for (let i = 0; i < 999; i++) t += 'ab' + i; console.log(t);"
        "console.log(t.slice(10, 900)); console.log(t.slice(10, 400) + t.slice(500, 600))"
    ),
    "values": (
        "console.log(null, 1, [1, 2]); console.group();"
        "console.log('in a\\ngroup'); console.groupEnd()"
    ),
}
STOPS = {
    "RangeError": "(function r() { return r() + 1 })()",
    "Timeout": "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)",
    "OutOfMemory": (
        "globalThis.keep = []; for (const n of [1e5, 1e4, 1e3, 100])"
        " try { for (;;) keep.push(new Uint8Array(n)); } catch {}"
    ),
}


@pytest.mark.parametrize("error", STOPS)
async def test_output_is_read_from_a_guest_that_cannot_tell_it(
    monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    monkeypatch.setattr("interpstack_quickjs.webassembly.machine._GRACE_SECONDS", 0.1)
    limits = {"cpu_seconds": 0.3 if error == "Timeout" else 5.0, "memory_bytes": 8 * 2**20}
    async with _stack(100_000, **limits).session() as session:
        for name, code in PRINTED.items():
            found = await session.eval(code)
            stopped = await session.eval(f"{code}; {STOPS[error]}")
            assert stopped.error is not None
            assert stopped.error.name == error
            assert stopped.console == found.console, name
            assert stopped.console_omitted_chars == 0
            await session.reset()


async def test_output_is_kept_of_a_guest_that_fills_its_memory_until_the_time_limit() -> None:
    async with _stack(100, cpu_seconds=0.5, memory_bytes=8 * 2**20).session() as session:
        outcome = await session.eval(
            "console.log('a'); console.log('b'); globalThis.keep = [];"
            "for (;;) try { keep.push([1]); } catch {}"
        )
        assert outcome.error is not None
        assert (outcome.error.name, outcome.console) == ("Timeout", "a\nb")


async def test_output_that_was_reported_is_not_reported_again() -> None:
    @bridge("late")
    async def late() -> None:
        """Answer when the cell has ended."""

    async with InterpreterStack(plugins=["console"], bridges=[late]).session() as session:
        outcome = await session.eval(
            f"late().then(() => {{ {STOPS['RangeError']} }}); console.log('early'); 'done'"
        )
        assert (outcome.text, outcome.console) == ("done", "early")
        outcome = await session.eval(
            "late().then(() => { console.log('later'); "
            f"{STOPS['RangeError']} }}); console.log('early'); 'done'"
        )
        assert (outcome.text, outcome.console) == ("done", "early\nlater")


async def test_of_very_much_output_the_beginning_is_read_and_the_rest_counted() -> None:
    async with _stack(100_000).session() as session:
        code = "for (let i = 0; i < 4000; i++) console.log('line ' + i)"
        text = (await session.eval(code)).console
        stopped = await session.eval(f"{code}; {STOPS['RangeError']}")
        assert text.startswith(stopped.console)
        assert len(stopped.console) > 15_000
        assert len(stopped.console) + stopped.console_omitted_chars == len(text)
