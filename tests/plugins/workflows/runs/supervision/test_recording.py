"""Entries are written in order, together, and nothing after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from workflow_runs import MemoryRuns

from interpstack_workflows.errors import LeaseLost
from interpstack_workflows.runs.supervision.recording import RecordWriter
from interpstack_workflows.steps.entries import Entry
from interpstack_workflows.stores.records import WorkflowRecord
from interpstack_workflows.stores.store import Lease


class _SlowStore(MemoryRuns):
    """A store that counts its writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        self.writes.append(len(entries))
        await asyncio.sleep(0.01)
        await super().append(run_id, index, entries, lease)


async def _store(store: _SlowStore | None = None) -> tuple[_SlowStore, Lease]:
    store = store or _SlowStore()
    await store.create(WorkflowRecord(id="run_a"))
    lease = (await store.take("run_a", "me", 60)).lease
    assert lease is not None
    return store, lease


async def _until(reached: Callable[[], bool]) -> None:
    """Give the loop turns until something is so."""
    for _ in range(10):
        if reached():
            return
        await asyncio.sleep(0)
    pytest.fail("not within ten turns of the loop")


def _entry(number: int) -> Entry:
    return Entry(scope="root", now=float(number))


async def test_entries_that_are_ready_go_together() -> None:
    store, lease = await _store()
    writer = RecordWriter(store, lease, 0, lambda: None)
    writer.write(_entry(0))
    await _until(lambda: bool(store.writes))
    for number in range(1, 5):
        writer.write(_entry(number))
    assert not await store.entries("run_a")
    await writer.safe()
    assert [entry.now for entry in await store.entries("run_a")] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert store.writes == [1, 4]
    await writer.safe()


class _FullStore(_SlowStore):
    """A store that has no room."""

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        raise OSError("the disk is full")


async def test_a_store_that_fails_ends_the_writing() -> None:
    store, lease = await _store(_FullStore())
    failed: list[bool] = []
    writer = RecordWriter(store, lease, 0, lambda: failed.append(True))
    for number in range(2):
        writer.write(_entry(number))
        with pytest.raises(OSError, match="full"):
            await writer.safe()
    assert failed == [True]
    assert not await store.entries("run_a")


async def test_nothing_is_written_after_a_failure() -> None:
    store, lease = await _store()
    failed: list[bool] = []
    writer = RecordWriter(store, lease, 0, lambda: failed.append(True))
    await store.release(lease)
    assert (await store.take("run_a", "other", 60)).lease is not None
    writer.write(_entry(0))
    with pytest.raises(LeaseLost):
        await writer.safe()
    writer.write(_entry(1))
    with pytest.raises(LeaseLost):
        await writer.safe()
    assert failed == [True]
    assert store.writes == [1]
    assert not await store.entries("run_a")
