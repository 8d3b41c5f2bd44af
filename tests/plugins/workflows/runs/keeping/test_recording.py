"""Entries are written in order, together, and nothing after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from interpstack_workflows.errors import LeaseLost
from interpstack_workflows.runs.keeping.recording import RecordWriter
from interpstack_workflows.steps.entries import Entry
from interpstack_workflows.stores.memory import MemoryWorkflowStore
from interpstack_workflows.stores.store import Lease, WorkflowRecord


class _SlowStore(MemoryWorkflowStore):
    """A store that counts its writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        self.writes.append(len(entries))
        await asyncio.sleep(0.01)
        await super().append(run_id, index, entries, lease)


async def _store() -> tuple[_SlowStore, Lease]:
    store = _SlowStore()
    await store.create(WorkflowRecord(id="run_a"))
    lease = await store.claim("run_a", "me", 60)
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
    assert await store.entries("run_a") == ()
    await writer.safe()
    assert [entry.now for entry in await store.entries("run_a")] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert store.writes == [1, 4]
    await writer.safe()


class _QuickStore(MemoryWorkflowStore):
    """A store that writes at once, unless it is busy."""

    def __init__(self) -> None:
        super().__init__()
        self.now: list[int] = []
        self.fails = self.is_busy = False

    def append_now(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> bool:
        if self.fails:
            raise OSError("the disk is full")
        if self.is_busy:
            return False
        self.now.append(index)
        self._stored[run_id].entries.extend(entries)
        return True


async def _quick() -> tuple[_QuickStore, RecordWriter, list[bool]]:
    store = _QuickStore()
    await store.create(WorkflowRecord(id="run_a"))
    lease = await store.claim("run_a", "me", 60)
    assert lease is not None
    failed: list[bool] = []
    return store, RecordWriter(store, lease, 0, lambda: failed.append(True)), failed


async def test_an_entry_that_the_store_takes_at_once_needs_no_waiting() -> None:
    store, writer, _ = await _quick()
    writer.write(_entry(0))
    assert store.now == [0]
    with pytest.raises(StopIteration):
        writer.safe().send(None)  # it does not wait
    store.is_busy = True
    for number in range(1, 4):
        writer.write(_entry(number))
    store.is_busy = False
    await writer.safe()
    writer.write(_entry(4))
    assert [entry.now for entry in await store.entries("run_a")] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert store.now == [0, 4]


async def test_a_store_that_fails_at_once_ends_the_writing() -> None:
    store, writer, failed = await _quick()
    store.fails = True
    writer.write(_entry(0))
    assert failed == [True]
    for _ in range(2):
        with pytest.raises(OSError, match="full"):
            await writer.safe()
        writer.write(_entry(1))
    assert failed == [True]
    assert await store.entries("run_a") == ()


async def test_nothing_is_written_after_a_failure() -> None:
    store, lease = await _store()
    failed: list[bool] = []
    writer = RecordWriter(store, lease, 0, lambda: failed.append(True))
    await store.release(lease)
    assert await store.claim("run_a", "other", 60) is not None
    writer.write(_entry(0))
    with pytest.raises(LeaseLost):
        await writer.safe()
    writer.write(_entry(1))
    with pytest.raises(LeaseLost):
        await writer.safe()
    assert failed == [True]
    assert store.writes == [1]
    assert await store.entries("run_a") == ()
