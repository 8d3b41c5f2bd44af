"""Tests of interpstack.sync: async code for synchronous callers."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import Bridge, sync
from interpstack.sync import run_sync

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


@pytest.mark.parametrize("started", [True, False])
def test_an_interrupt_while_it_starts_leaves_nothing_behind(
    started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, interrupts, coroutine = sync._shared.get(), iter([True]), _who()

    class Loop:
        def call_soon_threadsafe(self, function: Callable[[], object]) -> None:
            interrupt = next(interrupts, False)
            if started or not interrupt:
                loop.call_soon_threadsafe(function)
            if interrupt:
                raise KeyboardInterrupt

    monkeypatch.setattr(sync._shared, "get", Loop)
    with pytest.raises(KeyboardInterrupt):
        run_sync(coroutine)
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED
