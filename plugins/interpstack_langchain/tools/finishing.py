"""Inner calls of a cancelled eval: results of finished tools are recorded.

An eval with a record runs again when its graph is resumed, and repeats the calls that its record
does not answer. So a call whose tool has returned, or runs in a thread that nothing can stop,
comes to its end although the eval is cancelled. A tool that awaits something is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from interpstack_langchain.tools.native_calls import NativeCall

__all__ = ["FINISH_SECONDS", "finished"]

#: Seconds that such a call gets.
FINISH_SECONDS: Final = 5.0


async def finished(run: Coroutine[Any, Any, Any], call: NativeCall) -> Any:
    """Run a call to its end.

    Args:
        run: Runs the tool and all that is around it.
        call: The notes of the tool about its call.

    Raises:
        CancelledError: The caller was cancelled, and the tool had not returned.
    """
    ended = asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(_telling(run, ended))
    running.add_done_callback(lambda _: _tell(ended))  # of a task that never began
    try:
        await ended  # `shield` goes on a turn of the event loop later
    except asyncio.CancelledError:
        if call.leave():
            running.cancel()
        await asyncio.wait({running}, timeout=FINISH_SECONDS)
        running.cancel()  # nothing happens if it has ended
        if not _has_value(running):
            raise
        _go_on()
    return running.result()


async def _telling(run: Coroutine[Any, Any, Any], ended: asyncio.Future[None]) -> Any:
    try:
        return await run
    finally:
        _tell(ended)


def _tell(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


def _has_value(running: asyncio.Future[Any]) -> bool:
    return running.done() and not running.cancelled() and running.exception() is None


def _go_on() -> None:
    """Tell that the task deals with its cancellation."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
