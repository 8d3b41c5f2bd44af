"""Calls of a store run in threads of its own, and are complete when they return."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from interpstack_state import StoreThreads


@pytest.mark.parametrize("size", [0, 1, 3])
async def test_calls_run_at_once_up_to_the_number_of_threads(size: int) -> None:
    threads = StoreThreads(size, "mine")
    seen: list[str] = []
    most = running = 0
    lock = threading.Lock()

    def call() -> None:
        nonlocal most, running
        with lock:
            running += 1
            most = max(most, running)
            seen.append(threading.current_thread().name)
        threading.Event().wait(0.02)
        with lock:
            running -= 1

    await asyncio.gather(*(threads.run(call) for _ in range(9)))
    threads.close()
    assert most == max(1, size)
    assert all(name.startswith("mine") for name in seen) == (size > 0)


async def test_a_call_is_complete_when_its_caller_was_cancelled() -> None:
    threads = StoreThreads(1, "mine")
    begun, go_on, done = threading.Event(), threading.Event(), list[int]()

    def write() -> None:
        begun.set()
        assert go_on.wait(10)
        done.append(1)

    task = asyncio.create_task(threads.run(write))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    await asyncio.sleep(0.05)
    assert not task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [1]
    threads.close()


async def test_threads_are_started_again_after_the_end_and_after_a_fork() -> None:
    threads = StoreThreads(1, "mine")
    assert await threads.run(lambda: 1) == 1
    threads.close()
    threads.close()
    assert await threads.run(lambda: 2) == 2
    threads.start_anew()  # as `os.fork` has it called in the child
    assert await threads.run(os.getpid) == os.getpid()
    threads.close()


async def test_what_a_call_raises_is_raised() -> None:
    threads = StoreThreads(1, "mine")
    with pytest.raises(KeyError):
        await threads.run(lambda: {}["missing"])
    threads.close()
