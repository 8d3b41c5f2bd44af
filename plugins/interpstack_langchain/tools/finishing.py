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
    running = asyncio.ensure_future(run)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if call.leave():
            running.cancel()
        await asyncio.wait({running}, timeout=FINISH_SECONDS)
        running.cancel()  # nothing happens if it has ended
        if not _has_value(running):
            raise
        _go_on()
        return running.result()


def _has_value(running: asyncio.Future[Any]) -> bool:
    return running.done() and not running.cancelled() and running.exception() is None


def _go_on() -> None:
    """Tell that the task deals with its cancellation."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
