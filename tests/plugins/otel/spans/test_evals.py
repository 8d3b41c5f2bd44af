"""The span of an eval: its parent, its links, and what it records for a later run."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest
from journal_stores import Memory, Waits
from traces import Traces

from interpstack import Bridge, HostOffer, InterpreterStack, Session, bridge
from interpstack_durable.api import Journals
from interpstack_otel.telemetry import current


class Gate:
    """A call that waits until it is opened."""

    def __init__(self) -> None:
        self.open = False

    def handler(self) -> str:
        if not self.open:
            raise Waits
        return "through"

    def bridge(self) -> Bridge:
        return Bridge(name="gate", handler=self.handler, passes=(Waits,))


class Unrecorded(Memory):
    """A store without records beside its entries."""

    async def append_spent(self, record: Any) -> None:
        raise NotImplementedError


class Broken(Memory):
    """A store whose records fail."""

    async def append_spent(self, record: Any) -> None:
        raise OSError("disk full")


@bridge
def ping() -> str:
    return "pong"


def bound(traces: Traces, memory: Memory, gate: Gate) -> Session:
    """A session as another process would make it: it shares the store alone."""
    stack = InterpreterStack(plugins=["durable", traces.plugin], bridges=[ping, gate.bridge()])
    session = stack.session("s")
    session.bind(HostOffer(parts=[Journals(lambda host: memory)]))
    return session


CODE = "await ping({}) + await gate({})"


async def pause_and_resume(memory: Memory, first: Traces, second: Traces) -> None:
    gate = Gate()
    async with bound(first, memory, gate) as session:
        with pytest.raises(Waits):
            await session.eval(CODE)
    gate.open = memory.decided = True
    async with bound(second, memory, gate) as session:
        assert (await session.eval(CODE)).text == "pongthrough"


@pytest.mark.parametrize("suspends", [False, True])
async def test_a_resumed_run_without_a_span_around_it_is_a_child(suspends: bool) -> None:
    first, second = Traces(), Traces()
    await pause_and_resume(Memory(suspends=suspends), first, second)
    paused, resumed = first.one("interpstack.eval"), second.one("interpstack.eval")
    assert resumed.parent.span_id == paused.context.span_id  # type: ignore[union-attr]
    assert [link.context.span_id for link in resumed.links] == [paused.context.span_id]
    way = second.one("interpstack.resume").attributes["interpstack.resume.from"]  # type: ignore[index]
    assert way == ("image" if suspends else "record")
    assert resumed.attributes["interpstack.eval.replayed"] == 1  # type: ignore[index]
    assert [span.name for span in second.spans("execute")] == ["execute_tool gate"]


async def test_a_resumed_run_inside_of_a_span_has_a_link_alone() -> None:
    first, second = Traces(), Traces()
    gate, memory = Gate(), Memory()
    async with bound(first, memory, gate) as session:
        with pytest.raises(Waits):
            await session.eval(CODE)
    gate.open = memory.decided = True
    around = second.tracers.get_tracer("test").start_span("request")
    async with bound(second, memory, gate) as session:
        with current(around):
            await session.eval(CODE)
    resumed = second.one("interpstack.eval")
    assert resumed.parent == around.get_span_context()
    linked = [link.context.span_id for link in resumed.links]
    assert linked == [first.one("interpstack.eval").context.span_id]


async def test_each_run_is_linked_to_the_one_before() -> None:
    memory, gate, runs = Memory(decided=True), Gate(), [Traces() for _ in range(4)]
    for number, traces in enumerate(runs):
        gate.open = number == 3
        async with bound(traces, memory, gate) as session:
            try:
                await session.eval(CODE)
            except Waits:
                assert number < 3
    spans = [traces.one("interpstack.eval") for traces in runs]
    for before, after in pairwise(spans):
        assert [link.context.span_id for link in after.links] == [before.context.span_id]
    assert len({span.context.trace_id for span in spans}) == 1


@pytest.mark.parametrize(("kind", "lines"), [(Unrecorded, 0), (Broken, 1)])
async def test_a_store_that_keeps_no_record_loses_only_the_link(
    kind: type[Memory], lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Traces(), Traces()
    with caplog.at_level(logging.INFO, "interpstack.otel"):
        await pause_and_resume(kind(), first, second)
    assert len(caplog.records) == lines
    assert second.one("interpstack.eval").links == ()
    assert second.one("interpstack.resume")  # known by the replayed call


async def test_a_run_that_is_left_without_a_record_is_no_pause(traces: Traces) -> None:
    stack = InterpreterStack(plugins=[traces.plugin], bridges=[Gate().bridge()])
    async with stack.session() as session:
        with pytest.raises(Waits):
            await session.eval("await gate({})")
    assert traces.one("interpstack.eval").attributes["interpstack.eval.outcome"] == "left"  # type: ignore[index]
    assert traces.spans("interpstack.pause") == []


async def test_a_session_that_slept_is_woken(traces: Traces) -> None:
    async with InterpreterStack(plugins=[traces.plugin]) as stack:
        session = stack.session("s")
        await session.eval("let a = 1")
        await session.eval("a")
        assert traces.spans("interpstack.wake") == []
        assert await session.hibernate()
        assert (await session.eval("a")).text == "1"
    wake, last = traces.one("interpstack.wake"), traces.spans("interpstack.eval")[-1]
    assert wake.parent == last.context
    sleep = traces.one("interpstack.sleep")
    assert sleep.parent is None
    assert sleep.attributes == wake.attributes
    assert last.start_time <= wake.start_time < wake.end_time < last.end_time  # type: ignore[operator]
    engine = {"interpstack.engine.name": "quickjs"}
    assert traces.points("interpstack.session.wakes") == [(engine, 1)]


async def test_errors_of_code_are_named_on_its_span(traces: Traces) -> None:
    async with InterpreterStack(plugins=[traces.plugin]).session() as session:
        await session.eval("await import('x')")
        await session.eval("syntax error here")
    ends = [span.attributes["error.type"] for span in traces.spans("interpstack.eval")]  # type: ignore[index]
    assert ends == ["ModuleNotFound", "SyntaxError"]
