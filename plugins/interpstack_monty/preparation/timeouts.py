"""How long the preparation of a cell may take, in the thread that does it."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["OutOfTime", "Patience"]


class OutOfTime(Exception):
    """The cell's time is up before any of it has run."""


class Patience:
    """The computing time that a cell has left while it is prepared.

    Args:
        seconds: What it has; `None` for no limit.
        is_stopped: Whether it is to stop anyway.
    """

    def __init__(self, seconds: float | None, is_stopped: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._is_stopped = is_stopped
        self._began = time.thread_time()

    @property
    def spent(self) -> float:
        return time.thread_time() - self._began

    def left(self) -> float | None:
        return None if self._seconds is None else self._seconds - self.spent

    def pause(self) -> None:
        """Go on, if there is time.

        Raises:
            OutOfTime: There is none.
        """
        left = self.left()
        if self._is_stopped() or (left is not None and left <= 0):
            raise OutOfTime
