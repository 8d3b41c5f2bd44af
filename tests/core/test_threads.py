from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import Bridge
from interpstack.slots import Slots
from interpstack.threads import call_blocking, run_guest, run_sync

_WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def _who() -> str:
    await asyncio.sleep(0)
    return _WHO.get()


def test_run_sync_keeps_the_callers_context_and_gives_value_or_error() -> None:
    token = _WHO.set("caller")
    try:
        assert run_sync(_who()) == "caller"
    finally:
        _WHO.reset(token)
    for error in (ValueError("bad"), SystemExit(2), KeyboardInterrupt(), asyncio.CancelledError()):
        with pytest.raises(type(error)):
            run_sync(_raise(error))
    assert run_sync(_who()) == "nobody"


async def _raise(error: BaseException) -> None:
    raise error


async def test_run_sync_works_below_a_running_loop() -> None:
    assert run_sync(_who()) == "nobody"


def test_run_sync_from_many_threads_uses_one_loop_thread() -> None:
    results = []

    async def thread_name() -> str:
        await asyncio.sleep(0.01)
        return threading.current_thread().name

    threads = [
        threading.Thread(target=lambda: results.append(run_sync(thread_name()))) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == ["interpstack-sync"] * 20


def test_run_sync_on_its_own_loop_is_refused_instead_of_hanging(
    make_session: Callable[..., Any],
) -> None:
    async def again() -> str:
        return str(session.eval_sync("1").text)

    session = make_session(Bridge(name="kit.again", handler=again))
    error = session.eval_sync("await kit.again()").error
    assert "would wait for itself" in error.message


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)
def test_interrupting_a_sync_caller_cancels_and_leaves_the_session_usable(
    make_session: Callable[..., Any],
) -> None:
    ends = []

    async def hang() -> None:
        asyncio.get_running_loop().call_later(
            0.05, signal.pthread_kill, threading.main_thread().ident, signal.SIGINT
        )
        try:
            await asyncio.sleep(60)
        finally:
            ends.append("cleaned up")

    session = make_session(Bridge(name="kit.hang", handler=hang))
    with pytest.raises(KeyboardInterrupt):
        session.eval_sync("x = 1; await kit.hang()")
    assert ends == ["cleaned up"]
    assert session.eval_sync("x").text == "1"


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


@pytest.mark.parametrize("count", [1, 3])
async def test_slots_are_handed_out_in_order_and_survive_cancellation(count: int) -> None:
    slots, order, most, now = Slots(count), [], 0, 0

    async def use(number: int) -> None:
        nonlocal most, now
        async with slots.slot():
            now += 1
            most = max(most, now)
            order.append(number)
            try:
                await asyncio.sleep(0.002)
            finally:
                now -= 1

    tasks = [asyncio.ensure_future(use(number)) for number in range(20)]
    await asyncio.sleep(0)
    for number in (0, 7, 8, 19):
        tasks[number].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    kept = [number for number in range(20) if number not in (7, 8, 19)]
    assert (order, most) == (kept, count)
    assert not slots.busy
