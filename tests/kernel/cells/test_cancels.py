"""Whether a cancellation is the host's own, or one that a handler made up."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from interpstack.cells.cancels import Cancels


async def test_a_cancellation_that_a_handler_raises_is_not_the_hosts() -> None:
    cancels = Cancels()
    assert not cancels.is_for_host(asyncio.CancelledError(), 1)
    assert not cancels.happened()
    assert not cancels.is_for_host(ValueError())
    assert cancels.is_for_host(KeyboardInterrupt())


async def test_a_request_that_the_host_cancels() -> None:
    cancels, found = Cancels(), []

    async def request() -> None:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError as error:
            found.append((cancels.is_for_host(error, 1), cancels.is_for_host(error, 2)))

    task = asyncio.ensure_future(request())
    await asyncio.sleep(0)
    cancels.cancel(1, task, 0.0)
    assert cancels.tasks == {1: task}
    await task
    assert found == [(True, False)]
    assert cancels.tasks == {}  # code may set and clear timers for as long as its cell runs


@pytest.mark.parametrize("ends", [True, False])
async def test_a_request_with_grace_is_cancelled_only_if_it_does_not_end(ends: bool) -> None:
    cancels, end = Cancels(), asyncio.Event()

    async def request() -> None:
        await end.wait()

    task = asyncio.ensure_future(request())
    cancels.cancel(1, task, 600.0 if ends else 0.01)
    assert cancels.tasks == {1: task}
    if ends:
        await asyncio.sleep(0)
        end.set()
        await task
    else:
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_cell_that_was_cancelled_before_it_began_is_not_cancelled_by_that() -> None:
    async def cell() -> tuple[bool, bool]:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(600)
        cancels = Cancels()
        before = cancels.happened()
        running = asyncio.current_task()
        assert running is not None
        running.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            return before, cancels.is_for_host(error)
        raise AssertionError("it was cancelled")

    task = asyncio.ensure_future(cell())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == (False, True)
