"""Code of the host that a step runs, such as an agent: however it ends, its step ends, too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar, cast

__all__ = ["in_own_task", "was_stopped"]

_T = TypeVar("_T")


async def in_own_task(work: Awaitable[_T]) -> _T:
    """Await code of the host in a task of its own, which is cancelled with the caller's.

    In the caller's task, the code could count cancellations that nobody asked for, as a task group
    that fails does before Python 3.13, and `was_stopped` would be wrong.

    Raises:
        BaseException: What the code raised.
        RuntimeError: The code raised `GeneratorExit`, which would close the caller.
    """
    task = asyncio.create_task(_ended(work))
    task.add_done_callback(lambda _: _close(work))  # if the task never began
    value, error = await task
    if isinstance(error, GeneratorExit):
        raise RuntimeError("the agent or the sandbox raised GeneratorExit") from error  # noqa: TRY004
    if error is not None:
        raise error
    return cast("_T", value)


def was_stopped() -> bool:
    """Return whether the task in which a `CancelledError` arrives was itself cancelled.

    Code of the host raises that error, too, when a task of its own is cancelled.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def _ended(work: Awaitable[_T]) -> tuple[_T | None, BaseException | None]:
    """The end of some code as a value; out of a task, `SystemExit` would stop the loop."""
    try:
        return await work, None
    except BaseException as error:  # noqa: BLE001 - the caller raises it
        return None, error


def _close(work: Any) -> None:
    if asyncio.iscoroutine(work):
        work.close()
