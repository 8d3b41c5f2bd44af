"""The plugin that makes calls wait for an approval."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpstack import Bridge, HostOffer, HostTool, InterpreterStack, bridge
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
        assert "tools.pay has no field 'for'; its fields are: to" in refused.error.message
        assert run.questions == []
        asking = asyncio.ensure_future(session.eval("await tools.pay({to: 'a'})", host=run))
        await run.news(10)
        run.questions[0].settle(True)
        assert (await asking).text == "paid a"


def test_half_of_a_surrogate_pair_is_shown_as_no_other_text_is() -> None:
    assert shown_arguments({"to": "\ud83d"}) == r'{"to": "\ud83d"}'
    assert shown_arguments({"to": r"\ud83d"}) == r'{"to": "\\ud83d"}'


async def test_values_that_json_lacks_are_shown_as_a_person_reads_them() -> None:
    got: list[Any] = []

    async def sent(given: Any) -> None:
        got.append(given)

    run = ServedCell(lambda names: True)
    code = """tools.send({
        euros: 1000n, all: 2n ** 70n, at: new Date(0), data: new Uint8Array([1, 2]), no: undefined,
        low: -0, own: {$date: "x"}, map: new Map([[1, 1000n]]),
    })"""
    send = Bridge(name="tools.send", handler=sent, raw=True)
    stack = InterpreterStack(plugins=[GATE], bridges=[send])
    async with stack, stack.session() as session:
        asking = asyncio.ensure_future(session.eval(f"await {code}", host=run))
        await run.news(10)
        (question,) = run.questions
        question.settle(True)
        assert (await asking).ok
    assert got[0]["euros"] == 1000
    assert question.text == (
        'Code wants to call tools.send with {"euros": 1000, "all": 1180591620717411303424, '
        '"at": {"$date": "1970-01-01T00:00:00+00:00"}, "data": {"$bytes": "AQI="}, '
        '"no": {"$value": "undefined"}, "low": -0.0, "own": {"$$date": "x"}, '
        '"map": {"$value": "MapValue(entries=((1, 1000),))"}}. Allow this call?'
    )
