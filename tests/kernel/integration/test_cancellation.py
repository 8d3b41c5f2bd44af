"""Cancelling a caller ends its cell, whatever happens in the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interpstack import Bridge, Limits

MakeSession = Callable[..., Any]

FOREVER = "while True: await kit.f()"
UNLIMITED = Limits(requests=None, wall_seconds=20)


def _session(make: MakeSession, handler: Any, **fields: Any) -> Any:
    return make(Bridge(name="kit.f", handler=handler, **fields), limits=UNLIMITED)


@pytest.mark.parametrize("awaited", [True, False], ids=["request", "call"])
async def test_a_cancellation_that_comes_with_an_answer_counts(
    make_session: MakeSession, awaited: bool
) -> None:
    async def leave() -> None:
        running.cancel()

    session = _session(make_session, leave, awaited=awaited)
    source = FOREVER if awaited else "while True:\n    kit.f()\n    await sleep(0)"
    running = asyncio.ensure_future(session.eval(source))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await session.eval("1")).text == "1"


async def test_a_cancellation_that_a_handler_forgets_counts(make_session: MakeSession) -> None:
    started = asyncio.Event()

    async def stubborn() -> None:
        started.set()
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            return

    session = _session(make_session, stubborn, awaited=False)
    running = asyncio.ensure_future(session.eval("kit.f()\nx = 1"))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_cell_runs_in_a_task_that_was_cancelled_before(make_session: MakeSession) -> None:
    async def fail() -> None:
        raise asyncio.CancelledError

    session = _session(make_session, fail, awaited=False)
    texts = []

    async def clean_up() -> None:
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            texts.append((await session.eval("kit.f()\nawait sleep(0)\n'cleaned up'")).text)
            raise

    running = asyncio.ensure_future(clean_up())
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert texts == ["cleaned up"]


@pytest.mark.parametrize("turns", range(25))
async def test_a_cancellation_counts_whenever_it_comes(
    make_session: MakeSession, turns: int
) -> None:
    async def echo() -> int:
        return 1

    session = _session(make_session, echo)
    running = asyncio.ensure_future(session.eval(FOREVER))
    for _ in range(turns):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await session.eval("1")).text == "1"
