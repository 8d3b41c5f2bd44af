"""A call of a function that its namespace does not have: every engine says which one was meant."""

from __future__ import annotations

import pytest
from engines import OnEngine

from interpstack import InterpreterStack, bridge


@bridge("shop.price")
async def price(item: str) -> int:
    return len(item)


@pytest.mark.engines("all")
async def test_the_error_names_the_function_and_the_nearest(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name, bridges=[price]) as stack:
        session = stack.session("one")
        for source in ("shop.prise()", "1\n\nawait shop.prise()"):
            outcome = await session.eval(source)
            assert outcome.error is not None
            assert "prise" in outcome.error.message
            assert "did you mean shop.price?" in outcome.error.message
        assert (await session.eval("1 + 1")).text == "2"
