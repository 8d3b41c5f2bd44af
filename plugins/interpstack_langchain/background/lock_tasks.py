"""Tasks that hold a lock and may outlast the run that began them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

__all__ = ["LockTask"]


class LockTask:
    """A task that takes a lock, and keeps it after the run that began the task.

    Args:
        run: Takes the lock, calls the function that it is passed, and releases the lock when it
            ends or is cancelled. Begins at once, on the current event loop.
    """

    def __init__(self, run: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> None:
        self._entered = asyncio.Event()
        self._done: Future[None] = Future()
        self.task = asyncio.ensure_future(run(self._entered.set))
        self.task.add_done_callback(lambda task: self._done.set_result(None))

    async def entered(self, seconds: float | None = None) -> bool:
        """Wait until the lock is held; False if the task ends, or the time is up, first."""
        entering = asyncio.ensure_future(self._entered.wait())
        try:
            await asyncio.wait(
                {self.task, entering}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            entering.cancel()
        return self._entered.is_set()

    async def stop(self, seconds: float) -> None:
        """End the task from any event loop, and wait for that, at most some seconds."""
        loop = self.task.get_loop()
        with suppress(RuntimeError):  # a closed loop: nothing of it continues
            loop.call_soon_threadsafe(self.task.cancel)
            if loop.is_running():
                await asyncio.wait({asyncio.wrap_future(self._done)}, timeout=seconds)
