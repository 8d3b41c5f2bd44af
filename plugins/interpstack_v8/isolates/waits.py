"""The wait for a command of an isolate, which may end before the command does."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["CommandWait"]


class CommandWait:
    """A wait for one command, on the loop that runs it.

    `asyncio.wait` takes several times as long, while the isolate's thread needs Python's lock.

    Args:
        command: The command, which is never cancelled from here.
        patience: Seconds to wait at most; `None` for no limit.

    Attributes:
        left: Whether `leave` ended the wait.
    """

    def __init__(self, command: asyncio.Future[Any], patience: float | None) -> None:
        self.left = False
        loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = loop.create_future()
        self._timer = None if patience is None else loop.call_later(patience, self._end)
        command.add_done_callback(self._end)

    @property
    def is_over(self) -> bool:
        """Whether the wait has ended, or is about to."""
        return self._over.done()

    def leave(self) -> None:
        """End the wait now."""
        self.left = True
        self._end()

    async def ended(self) -> None:
        """Return when the command has ended, or the wait for other reasons."""
        try:
            await self._over
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _end(self, *_: object) -> None:
        if not self._over.done():
            self._over.set_result(None)
