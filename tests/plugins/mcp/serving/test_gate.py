"""The plugin that makes calls wait for an approval."""

from __future__ import annotations

from interpstack import InterpreterStack, bridge
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


def test_half_of_a_surrogate_pair_is_shown_as_no_other_text_is() -> None:
    assert shown_arguments({"to": "\ud83d"}) == r'{"to": "\ud83d"}'
    assert shown_arguments({"to": r"\ud83d"}) == r'{"to": "\\ud83d"}'
