"""Functions run in a thread in their order, and each caller gets its own result."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from interpstack_langchain.workflows.batches import Batches


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, "one") as executor:
        yield executor


async def test_functions_run_in_their_order_and_in_the_thread(thread: ThreadPoolExecutor) -> None:
    batches, ran = Batches(thread), list[tuple[int, str]]()

    def noted(number: int) -> int:
        ran.append((number, threading.current_thread().name))
        return number * 2

    runs = [batches.run(lambda number=number: noted(number)) for number in range(100)]  # type: ignore[misc]
    assert await asyncio.gather(*runs) == [2 * number for number in range(100)]
    assert ran == [(number, "one_0") for number in range(100)]


async def test_what_has_come_meanwhile_is_handed_over_together(thread: ThreadPoolExecutor) -> None:
    submitted = []

    class Counted(ThreadPoolExecutor):
        def submit(self, *given, **named):  # type: ignore[no-untyped-def]
            submitted.append(given)
            return thread.submit(*given, **named)

    batches, free = Batches(Counted(1)), threading.Event()
    first = asyncio.create_task(batches.run(free.wait))
    await asyncio.sleep(0)
    others = [asyncio.create_task(batches.run(lambda: None)) for _ in range(20)]
    await asyncio.sleep(0)
    free.set()
    await asyncio.gather(first, *others)
    assert len(submitted) == 1
    await batches.run(lambda: None)
    assert len(submitted) == 2


async def test_a_function_that_raises_fails_alone(thread: ThreadPoolExecutor) -> None:
    batches, free = Batches(thread), threading.Event()
    first = batches.run(free.wait)

    def wrong() -> None:
        raise ValueError("wrong")

    runs = asyncio.gather(first, batches.run(wrong), batches.run(int), return_exceptions=True)
    await asyncio.sleep(0)
    free.set()
    results = await runs
    assert results[0] is True
    assert repr(results[1]) == "ValueError('wrong')"
    assert results[2] == 0


async def test_the_function_of_a_caller_that_has_gone_is_left_out(
    thread: ThreadPoolExecutor,
) -> None:
    batches, free, ran = Batches(thread), threading.Event(), list[int]()
    first = asyncio.create_task(batches.run(free.wait))
    gone = asyncio.create_task(batches.run(lambda: ran.append(1)))
    going = asyncio.create_task(batches.run(lambda: ran.append(2)))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    free.set()
    await asyncio.gather(first, going)
    assert gone.cancelled()
    assert ran == [2]


async def test_event_loops_share_a_thread(thread: ThreadPoolExecutor) -> None:
    batches, free = Batches(thread), threading.Event()
    first = asyncio.create_task(batches.run(free.wait))
    await asyncio.sleep(0)
    elsewhere = [
        asyncio.create_task(asyncio.to_thread(asyncio.run, batches.run(lambda: "there")))
        for _ in range(4)
    ]
    here = asyncio.create_task(batches.run(lambda: "here"))
    await asyncio.sleep(0.05)
    free.set()
    assert await asyncio.gather(first, here, *elsewhere) == [True, "here", *["there"] * 4]


async def test_a_thread_that_takes_no_more_is_said(thread: ThreadPoolExecutor) -> None:
    batches = Batches(thread)
    thread.shutdown()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="after shutdown"):
            await batches.run(int)
