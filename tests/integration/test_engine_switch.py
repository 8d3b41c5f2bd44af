"""A thread that goes on with another engine keeps its portable values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from engines import QUICKJS, engine_named
from guests import GUESTS
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

VALUES = {"n": 7, "text": "añ😀", "items": [1, 2.5, None, True], "nested": {"a": {"b": [[]]}}}


@pytest.mark.parametrize(
    "route",
    [("quickjs", "v8", "monty"), ("monty", "process:quickjs", "v8"), ("v8", "monty", "quickjs")],
    ids="-".join,
)
async def test_values_go_with_the_thread(
    converse: Callable[..., Any], route: tuple[str, ...]
) -> None:
    taken: list[Any] = []

    @tool
    def take(value: dict[str, Any]) -> str:
        """Take a value."""
        taken.append(value)
        return "taken"

    saver, engines = InMemorySaver(), [engine_named(name) for name in route]
    for engine in engines:
        pytest.importorskip(engine.module)
    for place, engine in enumerate(engines):
        guest = GUESTS[engine.language]
        agent = converse(saver=saver, engine=engine.name, tools=[take])
        if place == 0:
            given = [guest.set(name, guest.value(value)) for name, value in VALUES.items()]
            await agent.run(guest.cell(*given, "0"))
        found = await agent.run(guest.pass_on("take", "value", *VALUES), "n += 1")
        assert found[0].endswith("<result>taken</result>")
        assert found[0].startswith("<notice>Variables of earlier cells were restored") == (
            place > 0
        )
        assert taken.pop() == {**VALUES, "n": 7 + place}


async def test_what_cannot_go_says_so_in_the_other_language(converse: Callable[..., Any]) -> None:
    pytest.importorskip("pydantic_monty")
    saver = InMemorySaver()
    await converse(saver=saver, engine=QUICKJS.name).run("var f = () => 1; var kept = 2")
    other = converse(saver=saver, engine="monty")
    lost, kept = await other.run("f()", "kept")
    assert "Not restored: f." in lost
    assert "Value for 'f' was not restored" in lost
    assert kept == "<result>2</result>"
