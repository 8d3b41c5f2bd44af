"""Listeners that ask for something of the session whose cell they hear."""

from __future__ import annotations

import pytest
from engines import OnEngine

from interpstack import Cell, ConfigurationError, InterpreterStack, Limits

ENGINES = {
    "quickjs": "console.log('a'); 1",
    "v8": "console.log('a'); 1",
    "monty": "print('a')\n1",
    "process:quickjs": "console.log('a'); 1",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("asks", ["close", "eval"])
async def test_a_listener_that_would_wait_for_its_own_cell_is_refused(
    engine: str, asks: str
) -> None:
    async with InterpreterStack(engine, ["console"]) as stack, stack.session() as session:

        def listen(part: str) -> None:
            if asks == "close":
                session.close()
            else:
                session.eval_sync("1")

        outcome = await session.eval(ENGINES[engine], on_console=listen)
        assert (outcome.text, outcome.console) == ("1", "a")
        (refusal,) = outcome.attachments
        assert isinstance(refusal, ConfigurationError)
        assert "its own running cell" in str(refusal)
        assert (await session.eval("1 + 1")).text == "2"


#: Cells that are stopped before any of their code runs.
_NEVER_BEGUN = {
    "does not parse": "const q = 1 1",
    "is cut off": "const q = {",
    "does not parse, with await": "await 1; const q = 1 1",
    "is no TypeScript": "let a: = 1",
}


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("source", _NEVER_BEGUN.values(), ids=_NEVER_BEGUN)
async def test_a_cell_that_never_begins_prints_nothing(on_engine: OnEngine, source: str) -> None:
    heard: list[str] = []
    async with InterpreterStack(on_engine.name, ["console"]) as stack, stack.session() as session:
        for code, output in (("console.log('second')", "second"), (source, ""), ("1", "")):
            heard.clear()
            language = "typescript" if ":" in source else None
            cell = Cell(source=code, language=language)
            outcome = await session.eval(cell, on_console=heard.append)
            assert outcome.console == output
            assert "".join(heard) == output


async def test_a_cell_whose_preparation_takes_too_long_prints_nothing() -> None:
    heard: list[str] = []
    limits = Limits(cpu_seconds=0.1)
    async with (
        InterpreterStack(plugins=["console"], limits=limits) as stack,
        stack.session() as session,
    ):
        await session.eval("console.log('second')", on_console=heard.append)
        outcome = await session.eval("let x = [1];\n" * 70_000, on_console=heard.append)
        assert (outcome.console, "".join(heard)) == ("", "second")
