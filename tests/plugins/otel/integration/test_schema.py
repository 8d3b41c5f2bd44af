"""The names that come out are those of the schema, which is the table of the docs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from journal_stores import Memory, Waits
from traces import Traces

from interpstack import Bridge, HostOffer, InterpreterStack, Limits, ModuleBundle, bridge, hookimpl
from interpstack_durable.api import Journals
from interpstack_otel.api import Payloads
from interpstack_otel.names import METRICS, SPANS
from interpstack_subagents.api import Subagents

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "telemetry.md"


@bridge
def ping() -> str:
    return "pong"


class Modules:
    """A plugin with a module."""

    name = "modules"

    @hookimpl
    def interpstack_resolve_module(self, specifier: str) -> Any:
        async def load() -> ModuleBundle:
            return ModuleBundle("m.js", {"m.js": "export const a = 1"})

        return load if specifier == "m" else None


async def everything(traces: Traces) -> None:
    """Have the plugin emit all that it can."""
    memory = Memory()

    def gate() -> None:
        if not memory.decided:
            raise Waits

    async def dispatch(wanted: Any, context: Any) -> str:
        return "helped"

    stack = InterpreterStack(
        plugins=["console", "durable", "subagents", Modules(), traces.plugin],
        bridges=[ping, Bridge(name="gate", handler=gate, passes=(Waits,))],
        limits=Limits(cpu_seconds=0.5, requests=2),
    )
    parts = [Subagents(dispatch)]
    task = "task({description: 'd', subagentType: 'kid'})"
    async with stack, stack.session("s") as session:
        session.bind(HostOffer(parts=parts))
        await session.eval(f"console.log('hi'); await ping({{}}); await {task}; await import('m')")
        await session.eval("await Promise.all([1, 2, 3].map(() => ping({}))); 1")
        await session.eval("await Promise.allSettled([task({}), task(), import('gone')])")
        await session.eval("for (;;);")
        for _ in range(2):
            session.bind(HostOffer(parts=[*parts, Journals(lambda host: memory)]))
            try:
                await session.eval("await ping({}); await gate({})")
            except Waits:
                memory.decided = True
    async with stack_that_sleeps(traces) as sleeping:
        session = sleeping.session("t")
        for _ in range(2):
            await session.eval("1")
            await session.hibernate()


def stack_that_sleeps(traces: Traces) -> InterpreterStack:
    return InterpreterStack(plugins=[traces.plugin])


@pytest.fixture(scope="module")
def emitted() -> Traces:
    traces = Traces(payloads=Payloads())
    asyncio.run(everything(traces))
    return traces


def kind(name: str) -> str:
    """The name of a span in the schema."""
    return next(known for known in SPANS if name.split()[0] == known.split()[0])


def test_spans_have_the_attributes_of_the_schema_and_no_others(emitted: Traces) -> None:
    found: dict[str, set[str]] = {name: set() for name in SPANS}
    for span in emitted.spans():
        found[kind(span.name)] |= set(span.attributes or {})
    assert found == {name: set(attributes) for name, attributes in SPANS.items()}


def test_metrics_have_the_attributes_of_the_schema_and_no_others(emitted: Traces) -> None:
    found: dict[str, set[str]] = {}
    stack = stack_that_sleeps(emitted)
    session = stack.session()  # open while the metrics are read
    for name, (attributes, _) in emitted.all_points():
        found.setdefault(name, set()).update(attributes)
    assert session.cells == 0
    assert found == {name: set(metric.attributes) for name, metric in METRICS.items()}


def tables() -> list[list[list[str]]]:
    """The tables of the page, as rows of cells."""
    blocks = re.findall(r"(?:^\|.*\n)+", PAGE.read_text("utf-8"), re.MULTILINE)
    return [
        [
            [cell.strip() for cell in line.strip("|\n ").split("|")]
            for line in block.splitlines()[2:]
        ]
        for block in blocks
    ]


def codes(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_page_has_the_same_names() -> None:
    spans, attributes, metrics, *_ = tables()
    assert [codes(row[0])[0] for row in spans] == list(SPANS)
    known = {name for names in SPANS.values() for name in names}
    assert [codes(row[0])[0] for row in attributes] == sorted(known)
    for name, where, _ in attributes:
        spans_with_it = {span for span, names in SPANS.items() if codes(name)[0] in names}
        assert (name, set(codes(where))) == (name, spans_with_it)
    assert [
        (codes(name)[0], kind, codes(unit)[0], sorted(codes(attributes)))
        for name, kind, unit, attributes, _ in metrics
    ] == [
        (name, metric.kind, metric.unit, sorted(metric.attributes))
        for name, metric in METRICS.items()
    ]
