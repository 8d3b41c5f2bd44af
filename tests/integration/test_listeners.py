"""Listeners that ask for something of the session whose cell they hear."""

from __future__ import annotations

import pytest

from interpstack import ConfigurationError, InterpreterStack

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
