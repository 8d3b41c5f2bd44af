"""Values that code hands over, and functions that code calls."""

from __future__ import annotations

import pytest

from interpstack import BridgeError, HostOffer, InterpreterStack, bridge
from interpstack_notebook.handover import Handover, tool_bridge


@pytest.mark.parametrize(
    ("engine", "code"),
    [("quickjs", "const rows = [{a: 1}]"), ("monty", "rows = [{'a': 1}]")],
)
async def test_code_hands_over_a_variable(engine: str, code: str) -> None:
    handover = Handover()
    async with InterpreterStack(engine, plugins=["notebook"]).session() as session:
        session.bind(HostOffer(parts=[handover]))
        await session.eval(code)
        assert (await session.eval(Handover.source("rows", session.language))).ok
        assert handover.taken("rows") == [{"a": 1}]
        with pytest.raises(KeyError):
            handover.taken("rows")


async def test_of_many_values_the_last_is_kept() -> None:
    handover = Handover()
    async with InterpreterStack(plugins=["notebook"]).session() as session:
        session.bind(HostOffer(parts=[handover]))
        many = "for (const name of 'abc') await notebook.take({name, value: name})"
        assert (await session.eval(many)).ok
        with pytest.raises(KeyError):
            handover.taken("a")
        assert handover.taken("c") == "c"


async def test_a_wrong_call_by_code_is_refused() -> None:
    handover = Handover()
    async with InterpreterStack(plugins=["notebook"]).session() as session:
        session.bind(HostOffer(parts=[handover]))
        for call in ("notebook.take(7)", "notebook.take({name: 7})"):
            error = (await session.eval(f"await {call}")).error
            assert error is not None
            assert "notebook.take takes a name and a value" in error.message


async def test_functions_have_the_names_of_the_language() -> None:
    def unit_price(item: str) -> int:
        return len(item)

    stack = InterpreterStack(plugins=["notebook"])
    tool = tool_bridge("unit_price", unit_price, stack.language)
    async with stack.session() as session:
        session.bind(HostOffer(parts=[Handover({"unit_price": tool})]))
        assert (await session.eval("await tools.unitPrice({item: 'pen'})")).text == "3"


def test_only_functions_are_tools() -> None:
    language = InterpreterStack().language

    @bridge("prices.of")
    def own(item: str) -> int:
        return len(item)

    assert tool_bridge("own", own, language) is own
    with pytest.raises(BridgeError, match="n is not a function; --tools takes names of functions"):
        tool_bridge("n", 7, language)
