"""Tests of the offers that the agent's tools become."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from langchain_core.tools import BaseTool, StructuredTool

from interpstack import InterpreterStack
from interpstack_langchain.options import Options
from interpstack_langchain.prompt import InterpreterPrompt
from interpstack_langchain.tools.offer_builder import AgentOffers

PART = InterpreterPrompt(Options(), "It lasts.")


def _tool(name: str) -> BaseTool:
    def run(n: int) -> int:
        return n

    return StructuredTool.from_function(run, name=name, description="Gives its argument back.")


def _options(ptc: Any) -> Options:
    return Options(
        memory_limit=2**24,
        timeout=5.0,
        wall_timeout=None,
        max_ptc_calls=None,
        tool_name="eval",
        max_result_chars=4000,
        capture_console=True,
        subagents=True,
        max_subagent_concurrency=32,
        ptc=ptc,
        mode="thread",
        max_snapshot_bytes=None,
        snapshot_signing_key=None,
        durable=True,
    )


@pytest.fixture
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack(plugins=["ptc"]) as stack:
        yield stack


def test_the_same_tools_give_the_same_offer(stack: InterpreterStack) -> None:
    tools = [_tool("one"), _tool("two"), _tool("other")]
    offers = AgentOffers(
        stack, _options(["one", "two"]), InterpreterPrompt(Options(), "It lasts."), ("eval",), None
    )
    offer = offers.offer(tools)
    assert offers.offer(list(tools)) is offer
    assert offers.offer(tools[:2]) is offer  # what is not allowed makes no difference
    assert offers.offer(tools[:1]) is not offer
    assert offers.offer([_tool("one"), *tools[1:]]) is not offer  # another tool of that name


def test_offers_are_forgotten_and_made_again(stack: InterpreterStack) -> None:
    offers = AgentOffers(
        stack, _options(["one"]), InterpreterPrompt(Options(), "It lasts."), ("eval",), None
    )
    tools = [_tool("one") for _ in range(17)]
    first, *_, last = [offers.offer([tool]) for tool in tools]
    assert offers.offer([tools[-1]]) is last
    assert offers.offer([tools[0]]) is not first


def test_the_allowlist_chooses(stack: InterpreterStack) -> None:
    own = _tool("own")
    offers = AgentOffers(
        stack,
        _options(["two", own, "missing", "eval", "two"]),
        InterpreterPrompt(Options(), "It lasts."),
        ("eval",),
        None,
    )
    offer = offers.offer([_tool("one"), _tool("two"), _tool("own"), _tool("eval")])
    assert [tool.name for tool in offer.tools] == ["own", "two"]


def test_tools_of_other_offers_are_not_kept(stack: InterpreterStack) -> None:
    offers = AgentOffers(
        stack, _options(["one"]), InterpreterPrompt(Options(), "It lasts."), ("eval",), None
    )
    tools = [_tool("one") for _ in range(40)]
    kept = [weakref.ref(tool) for tool in tools]
    for tool in tools:
        offers.offer([tool])
    last = offers.offer([tools[-1]])
    assert offers.offer([tools[-1], _tool("other")]) is last
    del tools, tool
    gc.collect()
    assert sum(ref() is not None for ref in kept) <= 16


def test_without_an_allowlist_all_tools_but_the_interpreters_are_offered(
    stack: InterpreterStack,
) -> None:
    options = attrs.evolve(_options(None), tools_only=True, every_tool=True)
    offers = AgentOffers(stack, options, PART, ("eval",), None)
    offer = offers.offer([_tool("one"), _tool("eval"), _tool("task"), _tool("two")])
    assert [tool.name for tool in offer.tools] == ["one", "two"]
