"""The same tools give the same offer, whose prompt sections are rendered once."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import HostOffer, HostTool, InterpreterStack, hookimpl
from interpstack_agents import OfferBuilder
from interpstack_testing import FakeEngine


class Tool:
    def __init__(self, name: str) -> None:
        self.name = name


class Counting:
    """Counts how often its prompt section is rendered, and its bridges are asked for."""

    name = "counting"

    def __init__(self) -> None:
        self.rendered = 0
        self.registered = 0

    @hookimpl
    def interpstack_prompt_section(self, offer: HostOffer) -> str:
        self.rendered += 1
        return ", ".join(tool.name for tool in offer.tools)

    @hookimpl
    def interpstack_register_bridges(self) -> None:
        self.registered += 1


def convert(tool: Tool) -> HostTool:
    async def call(given: dict[str, Any], context: Any) -> None: ...

    return HostTool(name=tool.name, call=call)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def stack(counting: Counting) -> Iterator[InterpreterStack]:
    with InterpreterStack(FakeEngine(), plugins=[counting]) as made:
        yield made


def test_prompt_sections_are_rendered_once_for_an_offer(
    stack: InterpreterStack, counting: Counting
) -> None:
    builder = OfferBuilder(convert=convert)
    one, two = Tool("one"), Tool("two")
    for _ in range(5):
        assert builder.prompt(stack, builder.offer([one, two])) == "one, two"
        stack.bridge_set(builder.offer([one, two]))
    assert (counting.rendered, counting.registered) == (1, 1)
    assert builder.prompt(stack, builder.offer([two])) == "two"
    assert builder.prompt(stack, builder.offer([one, two])) == "one, two"
    assert counting.rendered == 2
    assert builder.prompt(stack, HostOffer()) == ""  # somebody else's: never remembered
    assert counting.rendered == 3


def test_tools_are_converted_once_while_an_offer_has_them() -> None:
    converted: list[str] = []

    def counted(tool: Tool) -> HostTool:
        converted.append(tool.name)
        return convert(tool)

    builder = OfferBuilder(convert=counted)
    one, two = Tool("one"), Tool("two")
    first = builder.offer([one])
    second = builder.offer([one, two])
    assert converted == ["one", "two"]
    assert second.tools[0] is first.tools[0]


def test_what_the_offer_depends_on_beside_the_tools() -> None:
    builder = OfferBuilder(convert=convert, parts=[Tool("part")], code_tool="run")
    extra = Counting()
    plain, more = builder.offer([]), builder.offer([], [extra], lambda: [extra])
    assert (plain.part(Counting), more.part(Counting)) == (None, extra)
    assert builder.offer([], [extra], lambda: pytest.fail("it is remembered")) is more
    assert builder.offer([], [extra, extra]).part(Counting) is None
    assert plain.code_tool == more.code_tool == "run"
    assert more.part(Tool) is plain.part(Tool) is not None


def test_no_more_than_some_offers_and_their_tools_are_kept() -> None:
    builder = OfferBuilder(convert=convert)
    tools = [Tool("t") for _ in range(100)]
    alive = [weakref.ref(tool) for tool in tools]
    for tool in tools:
        builder.offer([tool])
    del tool, tools
    gc.collect()
    assert sum(ref() is not None for ref in alive) == 16


def test_tools_are_the_same_if_a_key_says_so() -> None:
    made: list[str] = []

    def counted(tool: Tool) -> HostTool:
        made.append(tool.name)
        return convert(tool)

    builder = OfferBuilder(convert=counted, key=lambda tool: tool.name)
    first = builder.offer([Tool("a"), Tool("b")])
    assert builder.offer([Tool("a"), Tool("b")]) is first
    assert builder.offer([Tool("b")]).tools[0] is first.tools[1]
    assert made == ["a", "b"]
