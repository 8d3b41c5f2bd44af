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


@pytest.mark.engines("javascript")
async def test_an_argument_that_would_have_no_effect_is_refused(on_engine: OnEngine) -> None:
    asked: list[str] = []

    @bridge("shop.buy")
    async def buy(item: str, count: int = 1) -> int:
        asked.append(item)
        return count

    with InterpreterStack(on_engine.name, bridges=[buy]) as stack:
        session = stack.session("one")
        for more in ("{count: 2}", "'two'", "undefined, {count: 2}", "null", "2, {count: 2}, 3"):
            outcome = await session.eval(f"await shop.buy({{item: 'tea'}}, {more})")
            assert outcome.error is not None, more
            assert outcome.error.name == "TypeError"
            assert "shop.buy takes one argument" in outcome.error.message
        caught = "await shop.buy({item: 'tea'}, {}).catch((error) => error.name)"
        assert (await session.eval(caught)).text == "TypeError"
        assert not asked


@pytest.mark.engines("javascript")
async def test_the_index_that_a_method_of_lists_passes_is_no_mistake(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name, bridges=[price]) as stack:
        session = stack.session("one")
        for calls in (
            "items.map(shop.price)",
            "Array.from(items, shop.price)",
            "items.flatMap(shop.price)",
            "(() => { const all = []; const one = (...given) => all.push(shop.price(...given));"
            " new Map([['k', items[0]], ['l', items[1]]]).forEach(one); return all; })()",
        ):
            source = "const items = [{item: 'tea'}, {item: 'coffee'}]; "
            source += f"(await Promise.all({calls})).join()"
            outcome = await session.eval(source)
            assert (outcome.text, outcome.error) == ("3,6", None)
