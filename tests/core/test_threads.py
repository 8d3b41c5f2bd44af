"""Tests of interpstack_core.threads."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import Bridge
from interpstack_core.threads import call_blocking, run_guest

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
