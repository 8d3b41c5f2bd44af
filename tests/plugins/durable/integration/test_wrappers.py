"""Wrappers and changed cells, with a journal: nothing is made twice, and what ran is recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest
from journal_stores import Ordered

from interpstack import (
    Bridge,
    Cell,
    CellGuard,
    GuestException,
    HostOffer,
    InterpreterStack,
    Settlement,
    hookimpl,
)
from interpstack_durable.api import Journals, ReplayDivergence
from interpstack_testing import FakeEngine

CATCHES = """\
try:
    said = await act(n=1)
except ToolError as error:
    said = str(error)
said"""


@attrs.define(eq=False)
class Around:
    """A plugin around requests, which knows those that are replayed.

    Attributes:
        fails: Raised after the call.
        holds: The wrapper waits for ever after the call, once this is set.
        answers: Given in place of the call.
    """

    name = "around"
    fails: Exception | None = None
    holds: asyncio.Event | None = None
    answers: str = ""
    seen: list[str] = attrs.field(factory=list)

    @hookimpl
    def interpstack_wrap_request(self, request: Any) -> Any:
        async def wrapper(make: Any) -> Settlement:
            self.seen.append("made")
            if self.answers:
                return Settlement(request.id, self.answers)
            settlement: Settlement = await make()
            if self.holds is not None:
                self.holds.set()
                await asyncio.Event().wait()
            if self.fails is not None:
                raise self.fails
            return settlement

        return wrapper

    @hookimpl
    def interpstack_open_cell(self) -> CellGuard:
        guard = CellGuard()
        guard.replayed = lambda *_: self.seen.append("replayed")  # type: ignore[method-assign]
        guard.admit = lambda *_: self.seen.append("admitted")  # type: ignore[method-assign]
        return guard


async def _run(plugin: Any, store: Ordered, calls: list[int], source: str = CATCHES) -> str:
    async def act(n: int) -> int:
        calls.append(n)
        return n + 41

    stack = InterpreterStack(
        FakeEngine(), ["durable", plugin], bridges=[Bridge(name="act", handler=act)]
    )
    async with stack, stack.session() as session:
        session.bind(HostOffer(parts=[Journals(lambda host: store)]))
        outcome = await session.eval(source)
        assert outcome.error is None
        return outcome.text


async def test_a_replayed_request_is_not_wrapped_and_a_guard_sees_it() -> None:
    around, store, calls = Around(), Ordered(), list[int]()
    assert [await _run(around, store, calls) for _ in range(2)] == ["42", "42"]
    assert (around.seen, calls) == (["made", "admitted", "replayed"], [1])


@pytest.mark.parametrize("fails", [OSError("disk full"), GuestException("withheld")])
async def test_a_call_whose_wrapper_failed_is_recorded_as_made(fails: Exception) -> None:
    store, calls = Ordered(), list[int]()
    said = await _run(Around(fails=fails), store, calls)
    assert str(fails) in said
    assert (await _run(Around(), store, calls), calls) == (said, [1])


async def test_an_answer_in_place_of_a_call_is_counted_as_none_in_each_run() -> None:
    around, store, calls = Around(answers="7"), Ordered(), list[int]()
    assert await _run(around, store, calls) == "7"
    again = Around()
    assert await _run(again, store, calls) == "7"
    assert (around.seen, again.seen, calls) == (["made"], ["replayed"], [])


async def test_a_call_that_ended_before_its_wrapper_was_cancelled_is_recorded_as_made() -> None:
    around, store, calls = Around(holds=asyncio.Event()), Ordered(), list[int]()
    running = asyncio.ensure_future(_run(around, store, calls))
    assert around.holds is not None
    await around.holds.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    said = await _run(Around(), store, calls)
    assert (said, calls) == (
        "act was called, but a plugin around it failed: the plugin was cancelled",
        [1],
    )


@attrs.define(eq=False)
class Header:
    """A plugin that puts a line in place of a cell's first."""

    name = "header"
    line: str

    @hookimpl
    def interpstack_transform_cell(self, cell: Cell) -> Cell:
        return attrs.evolve(cell, source=cell.source.replace("HEADER", self.line))


async def test_the_journal_records_the_cell_that_ran() -> None:
    store, calls = Ordered(), list[int]()
    source = "HEADER\nawait act(n=start)"
    assert await _run(Header("start = 1"), store, calls, source) == "42"
    assert await _run(Header("start = 1"), store, calls, source) == "42"
    assert await _run(Header("start = 1"), store, calls, "start = 1\nawait act(n=start)") == "42"
    with pytest.raises(ReplayDivergence, match="different code"):
        await _run(Header("start = 2"), store, calls, source)
    assert calls == [1]
