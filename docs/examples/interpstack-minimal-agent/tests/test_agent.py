from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interpstack_minimal_agent import ApprovalNeeded, MinimalAgent, Tool

FIELDS = {"properties": {"euros": {"type": "integer"}}, "required": ["euros"]}


class Till:
    """A tool with effects, which it counts."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    async def pay(self, euros: int) -> str:
        self.paid.append(euros)
        return f"paid {euros}"

    async def look(self, euros: int) -> int:
        self.paid.append(-euros)
        return 2 * euros

    @property
    def tools(self) -> list[Tool]:
        return [
            Tool("pay", self.pay, FIELDS, needs_approval=True),
            Tool("look", self.look, FIELDS),
        ]


def scripted(*codes: str) -> Any:
    """A model that runs each code in turn, and answers with the last result."""
    left: Iterator[str] = iter(codes)

    async def model(prompt: str, messages: Any) -> dict[str, str]:
        assert "pay(input: { euros: number })" in prompt
        code = next(left, None)
        return {"answer": messages[-1]["result"]} if code is None else {"code": code}

    return model


@pytest.fixture
def till() -> Till:
    return Till()


async def test_code_calls_tools_and_variables_outlive_the_process(
    till: Till, tmp_path: Path
) -> None:
    first = MinimalAgent(scripted("const n = await tools.look({euros: 3})"), till.tools, tmp_path)
    await first.ask("t", "Look.")
    await first.stack.aclose()
    second = MinimalAgent(scripted("n + 1", "n + 2"), till.tools, tmp_path)
    assert await second.ask("t", "And now?") == "<result>8</result>"
    await second.stack.aclose()


@pytest.mark.parametrize("restarted", [False, True])
async def test_an_approval_pauses_and_nothing_is_repeated(
    till: Till, tmp_path: Path, restarted: bool
) -> None:
    code = (
        "let said = await tools.look({euros: 1});"
        "try { said = await tools.pay({euros: said}) } catch (e) { said = e.message } said"
    )
    agent = MinimalAgent(scripted(code), till.tools, tmp_path)
    with pytest.raises(ApprovalNeeded) as caught:
        await agent.ask("t", "Pay.")
    (key,) = caught.value.calls
    assert till.paid == [-1]
    if restarted:
        await agent.stack.aclose()
        agent = MinimalAgent(scripted(), till.tools, tmp_path)
    with pytest.raises(ApprovalNeeded):
        await agent.ask("t")
    assert await agent.ask("t", **{key: True}) == "<result>paid 2</result>"
    assert till.paid == [-1, 2]
    await agent.stack.aclose()


async def test_calls_side_by_side_are_asked_for_together(till: Till, tmp_path: Path) -> None:
    code = "(await Promise.allSettled([1, 2].map(n => tools.pay({euros: n})))).map(r => r.status)"
    agent = MinimalAgent(scripted(code), till.tools, tmp_path)
    with pytest.raises(ApprovalNeeded) as caught:
        await agent.ask("t", "Pay both.")
    one, two = caught.value.calls
    said = await agent.ask("t", **{one: True, two: False})
    assert said == '<result>["fulfilled", "rejected"]</result>'
    assert till.paid == [1]
    await agent.stack.aclose()


async def test_an_eval_that_was_left_goes_on_and_repeats_no_finished_call(
    till: Till, tmp_path: Path
) -> None:
    paying = asyncio.Event()

    async def hang(euros: int) -> None:
        paying.set()
        await asyncio.Event().wait()

    def made(codes: list[str], pay: Any) -> MinimalAgent:
        return MinimalAgent(scripted(*codes), [Tool("pay", pay, FIELDS), till.tools[1]], tmp_path)

    code = "const a = await tools.look({euros: 5}); a + ' ' + await tools.pay({euros: a})"
    left = made([code], hang)
    asked = asyncio.create_task(left.ask("t", "Go."))
    await paying.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await left.stack.aclose()
    agent = made([], till.pay)
    assert await agent.ask("t") == "<result>10 paid 10</result>"
    assert till.paid == [-5, 10]
    await agent.stack.aclose()
