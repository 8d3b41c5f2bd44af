"""Tasks that hold a lock and may outlast the run that began them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interpstack_langchain.background.lock_tasks import LockTask


class Lock:
    """A lock, and a task that holds it until `over` is set."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.over = asyncio.Event()

    async def hold(self, entered: Callable[[], None]) -> None:
        async with self.lock:
            entered()
            await self.over.wait()


async def test_it_holds_the_lock_until_it_ends() -> None:
    lock = Lock()
    lock_task = LockTask(lock.hold)
    assert await lock_task.entered()
    assert lock.lock.locked()
    lock.over.set()
    await lock_task.task
    assert not lock.lock.locked()


async def test_a_lock_that_is_taken_is_waited_for_some_seconds() -> None:
    lock = Lock()
    async with lock.lock:
        lock_task = LockTask(lock.hold)
        assert not await lock_task.entered(0.01)
        await lock_task.stop(60)
    assert lock_task.task.cancelled()


async def test_a_task_that_fails_does_not_hold_the_lock() -> None:
    async def fail(entered: Callable[[], None]) -> None:
        raise ValueError("no lock")

    lock_task = LockTask(fail)
    assert not await lock_task.entered()
    with pytest.raises(ValueError, match="no lock"):
        lock_task.task.result()


async def test_it_is_stopped_from_another_event_loop() -> None:
    lock = Lock()
    lock_task = LockTask(lock.hold)
    assert await lock_task.entered()
    await asyncio.to_thread(lambda: asyncio.run(lock_task.stop(60)))
    assert lock_task.task.cancelled()
    assert not lock.lock.locked()


async def test_one_whose_loop_is_closed_needs_no_stop() -> None:
    begun: list[LockTask] = []

    async def begin() -> None:
        lock = Lock()
        begun.append(LockTask(lock.hold))
        assert await begun[0].entered()

    await asyncio.to_thread(lambda: asyncio.run(begin()))
    await begun[0].stop(60)
