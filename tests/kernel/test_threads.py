"""Tests of interpstack.threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import gc
import inspect
import threading
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import Bridge
from interpstack.threads import call_blocking, run_guest, to_end

_WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def _who() -> str:
    await asyncio.sleep(0)
    return _WHO.get()


async def test_handlers_see_the_callers_context_variables(make_session: Callable[..., Any]) -> None:
    session = make_session(
        Bridge(name="kit.later", handler=_who), Bridge(name="kit.now", handler=lambda: _WHO.get())
    )
    _WHO.set("caller")
    assert (
        await session.eval("[await kit.later(), await kit.now()]")
    ).text == "['caller', 'caller']"


async def test_blocking_calls_run_off_the_loop_and_beside_each_other() -> None:
    barrier = threading.Barrier(8, timeout=20)
    names = await asyncio.gather(*[call_blocking(lambda: _meet(barrier)) for _ in range(8)])
    assert all(name.startswith("interpstack-handler") for name in names)


def _meet(barrier: threading.Barrier) -> str:
    barrier.wait()
    return threading.current_thread().name


async def test_a_cancelled_guest_is_interrupted_and_waited_for() -> None:
    started, stop, ended = threading.Event(), threading.Event(), []

    def guest() -> None:
        started.set()
        stop.wait(20)
        ended.append(1)

    task = asyncio.ensure_future(run_guest(guest, stop.set))
    await asyncio.get_running_loop().run_in_executor(None, started.wait)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [1]


class _OwnStop(StopIteration):
    """A kind of exception that generators end with, made by a library."""


class _OwnCancel(asyncio.CancelledError):
    """A cancellation of something else than the call."""


_SPECIAL = [
    StopIteration("x"),
    _OwnStop(),
    GeneratorExit(),
    asyncio.CancelledError(),
    _OwnCancel(),
    concurrent.futures.CancelledError(),
]


def _raises(error: BaseException) -> Callable[[], Any]:
    def handler() -> None:
        raise error

    return handler


@pytest.mark.parametrize("error", _SPECIAL, ids=lambda error: type(error).__name__)
async def test_what_a_future_takes_for_its_own_is_an_error_of_the_call(
    error: BaseException,
) -> None:
    with pytest.raises(RuntimeError, match=f"the handler raised {type(error).__name__}"):
        await asyncio.wait_for(call_blocking(_raises(error)), 20)


@pytest.mark.parametrize(
    "error", [*_SPECIAL, ValueError("bad")], ids=lambda error: type(error).__name__
)
@pytest.mark.parametrize("patience", [20.0, 0.01])
async def test_a_handler_that_fails_after_a_cancellation_leaves_nothing_behind(
    error: BaseException, patience: float
) -> None:
    logged: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: logged.append(context))
    started, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def handler() -> None:
        started.set()
        go_on.wait(20)
        ended.set()
        raise error

    task = asyncio.ensure_future(call_blocking(handler, outlasts=lambda: patience))
    await asyncio.to_thread(started.wait, 20)
    task.cancel()
    if patience < 1:
        with pytest.raises(asyncio.CancelledError):
            await task
    go_on.set()
    await asyncio.to_thread(ended.wait, 20)
    if patience > 1:
        with pytest.raises((RuntimeError, ValueError)):
            await task
    await call_blocking(lambda: None)  # what the thread has sent to the loop comes before this
    del task
    gc.collect()
    assert logged == []


async def test_what_runs_to_its_end_ends_before_the_cancellation_of_its_caller() -> None:
    begun, end, done = asyncio.Event(), asyncio.Event(), list[str]()

    async def work() -> None:
        begun.set()
        await end.wait()
        done.append("work")

    caller = asyncio.ensure_future(to_end(work()))
    await begun.wait()
    for _ in range(3):
        caller.cancel()
        await asyncio.sleep(0)
    end.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert done == ["work"]


async def test_what_runs_to_its_end_returns_its_value_or_raises_its_exception() -> None:
    async def work(n: int) -> float:
        await asyncio.sleep(0)
        return 6 / n

    assert await to_end(work(2)) == 3
    with pytest.raises(ZeroDivisionError):
        await to_end(work(0))


async def test_what_takes_too_long_after_the_cancellation_is_cancelled_too() -> None:
    caller = asyncio.ensure_future(to_end(asyncio.sleep(600), 0.01))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_what_fails_after_the_cancellation_is_the_cause_of_it() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.sleep(0)
        raise ValueError("the disk is full")

    caller = asyncio.ensure_future(to_end(work()))
    await begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await caller
    assert isinstance(caught.value.__cause__, ValueError)


async def test_a_task_that_is_thrown_away_before_it_begins_leaves_nothing_behind() -> None:
    async def work() -> None:
        raise AssertionError("it runs")

    caller = asyncio.ensure_future(to_end(work()))
    await asyncio.sleep(0)
    for task in asyncio.all_tasks() - {asyncio.current_task(), caller}:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    gc.collect()  # a coroutine that is never awaited is a warning, and warnings are errors


def test_work_that_is_thrown_away_with_its_loop_ends_in_silence() -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(
        lambda loop, context: None
    )  # which tasks that never end are reported to
    made = []

    async def endless() -> None:
        made.append(asyncio.current_task())
        await asyncio.sleep(3600)

    waiting = loop.create_task(to_end(endless()))
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    (inner,) = made
    inner.get_coro().close()  # as the garbage collector does, in any order
    waiting.get_coro().close()
    ends = [inspect.getcoroutinestate(one.get_coro()) for one in (inner, waiting)]
    assert ends == [inspect.CORO_CLOSED] * 2
