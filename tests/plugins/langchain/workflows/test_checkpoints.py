"""How often a store asks a thread to use a checkpointer that blocks, and where it does without."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore
from interpstack_workflows.api import Message, WorkflowRecord

_T = TypeVar("_T")


class _Counting(CheckpointWorkflowStore):
    """A store that counts what it hands to threads."""

    handed = 0

    async def _blocking(self, function: Callable[[], _T]) -> _T:
        self.handed += 1
        return await super()._blocking(function)


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "runs.sqlite", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


async def test_a_thread_runs_each_method_as_a_whole(saver: SqliteSaver) -> None:
    store = _Counting(saver)
    await store.create(run := WorkflowRecord(id="run"))
    await store.send("run", Message(kind="wake"))
    taken = await store.take("run", "me", 60, lambda same: same)
    assert taken.lease is not None
    await store.update(run, taken.lease)
    await store.renew(taken.lease, 60)
    await store.leave(run, taken.lease)
    assert store.handed == 6


async def test_a_cancelled_caller_waits_for_the_thread(saver: SqliteSaver) -> None:
    store, runs, goes_on = CheckpointWorkflowStore(saver), threading.Event(), threading.Event()

    def block() -> None:
        runs.set()
        goes_on.wait()

    reading = asyncio.create_task(store._blocking(block))
    await asyncio.to_thread(runs.wait)
    for _ in range(2):
        reading.cancel()
        await asyncio.sleep(0.02)
        assert not reading.done()
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_an_async_checkpointer_needs_no_thread() -> None:
    store, before = _Counting(InMemorySaver()), threading.active_count()
    await store.create(run := WorkflowRecord(id="run"))
    lease = (await store.take("run", "me", 60, lambda same: same)).lease
    assert lease is not None
    await store.leave(run, lease)
    assert store.handed == 0
    assert threading.active_count() == before
