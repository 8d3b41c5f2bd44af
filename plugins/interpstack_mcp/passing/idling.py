"""Connections of clients without sessions, which nobody ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import attrs

__all__ = ["IdleTimer"]


@attrs.define(eq=False)
class IdleTimer:
    """Closes something that was not used for some time.

    Attributes:
        seconds: The time.
        busy: Whether it is in use, and may not be closed.
        close: Closes it.
    """

    seconds: float
    busy: Callable[[], bool]
    close: Callable[[], Coroutine[Any, Any, None]]
    _timer: asyncio.TimerHandle | None = attrs.field(default=None, init=False)
    _task: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    def start(self) -> None:
        """Begin to count anew."""
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._end)

    def stop(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        if self.busy():
            self.start()
        else:
            self._task = asyncio.ensure_future(self.close())
