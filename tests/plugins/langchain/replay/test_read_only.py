"""Replays of records: they call nothing, write nothing, and end with the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from interpstack import Bridge, ConfigurationError, HostOffer, InterpreterStack, Outcome, Request
from interpstack_durable.api import Journals, MemoryJournalStore, ReplayDivergence
from interpstack_langchain.replay.read_only import (
    NothingIsCalled,
    ReadOnlyStore,
    RecordEnds,
    Rerun,
)
from interpstack_testing import FakeEngine

BEGAN = 1_700_000_000.0
CODE = """
first = await pay(to="Ann")
second = await pay(to="Bo")
[first, second]
"""


async def record(code: str) -> tuple[Outcome, Sequence[Mapping[str, Any]]]:
    """Run code; its outcome and its journal."""
    store = MemoryJournalStore("cell")

    async def pay(to: str) -> str:
        return f"paid {to}"

    offered = [Bridge(name="pay", handler=pay)]
    with InterpreterStack(FakeEngine(), ["durable"], bridges=offered) as stack:
        async with stack.session() as session:
            session.bind(HostOffer(parts=[Journals(lambda host: store)]))
            outcome = await session.eval(code)
    return outcome, await store.load()


def rerun_of(entries: Sequence[Mapping[str, Any]], **names: Mapping[str, bool]) -> Rerun:
    return Rerun(ReadOnlyStore("cell", entries), BEGAN, names or {"pay": {}})


async def replay(code: str, run: Rerun, offer: HostOffer | None = None) -> Outcome:
    with InterpreterStack(FakeEngine(), ["durable", NothingIsCalled()]) as stack:
        async with stack.session() as session:
            session.bind(run.offer() if offer is None else offer)
            return await session.eval(code)


async def test_a_whole_record_has_the_outcome_of_its_run() -> None:
    outcome, entries = await record(CODE)
    run = rerun_of(entries)
    assert (await replay(CODE, run)).text == outcome.text == "['paid Ann', 'paid Bo']"
    assert run.waiting == {}


@pytest.mark.parametrize(("kept", "waits"), [(0, "Ann"), (1, "Bo")])
async def test_a_record_that_ends_early_names_the_call_that_code_waits_for(
    kept: int, waits: str
) -> None:
    _, entries = await record(CODE)
    steps = [entry for entry in entries if "now" in entry]
    run = rerun_of([*entries[: len(entries) - len(steps)], *steps[:kept]])
    with pytest.raises(RecordEnds) as end:
        await replay(CODE, run)
    (waiting,) = end.value.waiting
    assert waiting.bridge == "pay"
    assert waits in str(waiting.wire)
    assert run.over.is_set()


async def test_code_that_does_something_else_diverges() -> None:
    _, entries = await record(CODE)
    with pytest.raises(ReplayDivergence):
        await replay(CODE.replace("Ann", "Cy"), rerun_of(entries))


async def test_a_run_without_a_record_begins_when_it_is_said_to() -> None:
    assert float((await replay("now()", rerun_of([]))).text) == BEGAN


async def test_names_that_no_bridge_can_have_are_left_out() -> None:
    unlisted = {"listed": False, "positional": True}
    run = rerun_of([], **{"not a name": {}, "timer": {}, "module": {}, "pay": unlisted})
    with InterpreterStack(FakeEngine(), ["durable", NothingIsCalled()]) as stack:
        bridges = stack.bridge_set(run.offer())
    made = [(one.name, one.listed, one.positional) for one in bridges if one.owner == "replay"]
    assert made == [("pay", False, True)]


async def test_a_session_that_is_not_bound_to_a_replay_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a replay needs a session that is bound to"):
        await replay("1", rerun_of([]), HostOffer())


async def test_a_read_only_store_stores_nothing() -> None:
    store = ReadOnlyStore("cell", [{"n": 0}])
    for write in (store.append(1, {}), store.append_spent({}), store.keep_suspended("")):
        with pytest.raises(RecordEnds, match="the record ends here"):
            await write
    assert await store.load() == [{"n": 0}]
    assert (store.spent(), await store.suspended(), store.suspends) == ((), None, False)


async def test_a_pause_of_a_replay_is_the_end_of_the_record() -> None:
    asked = Request(id=1, bridge="pay", wire=[{}])
    journal: Any = None
    end = await ReadOnlyStore("cell", []).pause(journal, [(asked, ValueError("no"))], [])
    assert isinstance(end, RecordEnds)
    assert end.waiting == (asked,)
