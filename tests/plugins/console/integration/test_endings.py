"""Output that is too long keeps its first and its last lines."""

from __future__ import annotations

import re

import pytest
from engines import OnEngine

from interpstack import InterpreterStack, Limits


def _stack(engine: str, console_chars: int = 1000, **limits: float) -> InterpreterStack:
    given = Limits(console_chars=console_chars, **limits)  # type: ignore[arg-type]
    return InterpreterStack(engine, ["console"], limits=given)


def _lines(count: int) -> str:
    return f"for (let i = 0; i < {count}; i++) console.log('line ' + i)"


@pytest.mark.engines("javascript")
async def test_the_first_and_last_lines_are_kept(on_engine: OnEngine) -> None:
    async with _stack(on_engine.name) as stack, stack.session() as session:
        outcome = await session.eval(_lines(5000))
        first, last = outcome.console.split("\n")[:-1], outcome.console_end.split("\n")
        assert first == [f"line {i}" for i in range(len(first))]
        assert last == [f"line {i}" for i in range(5000 - len(last), 5000)]
        assert 980 < len(outcome.console) <= 1000
        assert 200 < len(outcome.console_end) <= 250
        whole = len("\n".join(f"line {i}" for i in range(5000)))
        kept = len(outcome.console) + len(outcome.console_end)
        assert kept + outcome.console_omitted_chars == whole
        shown = session.render(outcome)
        assert len(shown) < 1100
        assert re.search(r"line [\d\n line]+… \[truncated \d+ chars\] …\nline \d+\n", shown)
        assert shown.endswith("line 4999\n</stdout>\n<result>undefined</result>")


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("count", [1, 90, 110, 111, 112])
async def test_output_that_fits_is_whole(on_engine: OnEngine, count: int) -> None:
    whole = "\n".join(f"line {i}" for i in range(count))
    async with _stack(on_engine.name, 1000) as stack, stack.session() as session:
        outcome = await session.eval(_lines(count))
        assert len(whole) <= 1000
        assert (outcome.console, outcome.console_end) == (whole, "")
        assert outcome.console_omitted_chars == 0
        assert (await session.eval("console.log('next')")).console == "next"


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("live", [False, True])
async def test_one_very_long_line_keeps_its_ends(on_engine: OnEngine, live: bool) -> None:
    heard: list[str] = []
    async with _stack(on_engine.name) as stack, stack.session() as session:
        outcome = await session.eval(
            "console.log('a' + 'x'.repeat(1e5) + 'z')", on_console=heard.append if live else None
        )
        assert outcome.console == "a" + "x" * 999
        assert outcome.console_end == "x" * 249 + "z"
        assert outcome.console_omitted_chars == 100_002 - 1250
        assert len(session.render(outcome)) < 1100


@pytest.mark.engines("javascript")
async def test_output_over_several_turns_has_one_end(on_engine: OnEngine) -> None:
    step = "console.log('turn ' + i); if (i % 50 === 0) await sleep(0)"
    code = f"for (let i = 0; i < 400; i++) {{ {step} }}"
    heard: list[str] = []
    for listener in (None, heard.append):
        async with (
            InterpreterStack(
                on_engine.name, ["console"], limits=Limits(console_chars=1000)
            ) as stack,
            stack.session() as session,
        ):
            await session.eval("var sleep = (ms) => new Promise((done) => setTimeout(done, ms))")
            outcome = await session.eval(code, on_console=listener)
            assert outcome.console.startswith("turn 0\nturn 1\n")
            assert outcome.console_end.endswith("\nturn 398\nturn 399")
            assert outcome.console_omitted_chars > 1000
            assert len(outcome.console) <= 1000
            assert 200 < len(outcome.console_end) <= 250
    assert "".join(heard).startswith("turn 0\nturn 1\n")


@pytest.mark.engines("javascript")
async def test_a_failed_cell_keeps_the_end_of_its_output(on_engine: OnEngine) -> None:
    async with _stack(on_engine.name) as stack, stack.session() as session:
        outcome = await session.eval(f"{_lines(5000)}; throw new Error('late')")
        assert outcome.console_end.endswith("line 4999")
        assert outcome.error is not None


@pytest.mark.engines("javascript")
async def test_a_cut_in_the_end_is_never_in_a_character(on_engine: OnEngine) -> None:
    async with _stack(on_engine.name) as stack, stack.session() as session:
        for shift in ("", "x"):
            outcome = await session.eval(f"console.log('{shift}' + '😀'.repeat(4000))")
            assert set(outcome.console_end) == {"😀"}
