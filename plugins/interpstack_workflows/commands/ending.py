"""The end of a command: also where it is asked to end, it gives its runs back."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

__all__ = ["run_to_end"]

_T = TypeVar("_T")


def run_to_end(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine; SIGTERM cancels it, as SIGINT does in every `asyncio.run`.

    Supervisors, containers and `timeout` stop a program by SIGTERM. A runner that just ended would
    keep its runs from others until its leases have lapsed.

    Raises:
        SystemExit: SIGTERM came; the status is 128 more than its number, as shells have it.
    """
    ended = False

    async def cancellable() -> _T:
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()

        def end(number: int, frame: FrameType | None) -> None:
            nonlocal ended
            if not ended and task is not None:
                ended = True
                loop.call_soon_threadsafe(task.cancel)

        if threading.current_thread() is not threading.main_thread():
            return await main
        before = signal.signal(signal.SIGTERM, end)
        try:
            return await main
        finally:
            signal.signal(signal.SIGTERM, before)

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        if not ended:
            raise
        sys.exit(128 + signal.SIGTERM)
