"""Tests of interpstack_v8.isolates.waits."""

from __future__ import annotations

import asyncio
from typing import Any

from interpstack_v8.isolates.waits import CommandWait


def _command() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


async def test_a_wait_ends_with_its_command() -> None:
    wait = CommandWait(command := _command(), 600.0)
    assert not wait.is_over
    command.set_exception(ValueError("of the command"))
    await wait.ended()
    assert (wait.is_over, wait.left) == (True, False)
    assert isinstance(command.exception(), ValueError)


async def test_a_wait_has_a_limit() -> None:
    wait = CommandWait(command := _command(), 0.01)
    await wait.ended()
    assert (wait.is_over, wait.left, command.done()) == (True, False, False)


async def test_a_wait_can_be_left_and_its_command_goes_on() -> None:
    wait = CommandWait(command := _command(), None)
    wait.leave()
    await wait.ended()
    assert (wait.is_over, wait.left, command.done()) == (True, True, False)
    command.set_result(1)
    await asyncio.sleep(0)
    assert await command == 1


async def test_a_wait_that_is_cancelled_leaves_the_command_alone() -> None:
    wait = CommandWait(command := _command(), 600.0)
    waits = asyncio.ensure_future(wait.ended())
    await asyncio.sleep(0)
    waits.cancel()
    await asyncio.wait({waits})
    assert waits.cancelled()
    assert not command.done()
    command.set_result(1)
    assert await command == 1
