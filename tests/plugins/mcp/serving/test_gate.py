"""The plugin that makes calls wait for an approval."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpstack import HostOffer, HostTool, InterpreterStack, bridge
from interpstack_mcp.api import GATE
from interpstack_mcp.serving.gate import shown_arguments
from interpstack_mcp.serving.runs import ServedCell


@bridge("tools.pay")
async def pay(to: str) -> str:
    return f"paid {to}"


async def test_other_sessions_are_left_alone() -> None:
    stack = InterpreterStack(plugins=[GATE], bridges=[pay])
    async with stack, stack.session() as session:
        assert (await session.eval("await tools.pay({to: 'a'})")).text == "paid a"


async def test_names_of_bridges_and_tools_are_matched() -> None:
    seen: list[set[str]] = []

    def needs(names: set[str]) -> bool:
        seen.append(names)
        return False

    run = ServedCell(needs)  # type: ignore[arg-type]
    stack = InterpreterStack(plugins=[GATE], bridges=[pay])
    async with stack, stack.session() as session:
        assert (await session.eval("await tools.pay({to: 'a'})", host=run)).ok
    assert seen == [{"tools.pay"}]
    assert (run.calls, run.last) == (1, "tools.pay")


@pytest.mark.parametrize("many", [False, True])
async def test_nobody_is_asked_about_a_field_that_the_tool_does_not_have(many: bool) -> None:
    async def call(given: dict[str, Any], context: Any) -> str:
        return f"paid {given['to']}"

    schema = {"type": "object", "properties": {"to": {"type": "string"}, "all": {}}}
    offer = HostOffer(tools=(HostTool(name="pay", call=call, input_schema=schema),))
    run = ServedCell(lambda names: True)
    more = ", all: Array(5000).fill(1)" if many else ""
    async with InterpreterStack(plugins=["ptc", GATE]) as stack, stack.session() as session:
        session.bind(offer)
        refused = await session.eval(f"await tools.pay({{for: 'a'{more}}})", host=run)
        assert refused.error is not None
        assert refused.error.name == "TypeError"
        assert refused.error.message.startswith("tools.pay has no field 'for'; its fields are: to")
        assert run.questions == []
        asking = asyncio.ensure_future(session.eval("await tools.pay({to: 'a'})", host=run))
        await run.news(10)
        run.questions[0].settle(True)
        assert (await asking).text == "paid a"


def test_half_of_a_surrogate_pair_is_shown_as_no_other_text_is() -> None:
    assert shown_arguments({"to": "\ud83d"}) == r'{"to": "\ud83d"}'
    assert shown_arguments({"to": r"\ud83d"}) == r'{"to": "\\ud83d"}'
