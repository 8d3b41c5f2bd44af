"""The time that the preparation of a cell takes, which counts as the cell's."""

from __future__ import annotations

import time
from collections.abc import Callable

from interpstack_javascript.cells import Clock

__all__ = ["OutOfTime", "PreparationClock"]


class OutOfTime(Exception):
    """The cell's time was up while its source was prepared."""


class PreparationClock(Clock):
    """The computing time of a cell's preparation, in this thread.

    Args:
        seconds: Time for it; `None` for no limit.
        is_interrupted: Whether it is to stop anyway.
    """

    def __init__(self, seconds: float | None, is_interrupted: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._is_interrupted = is_interrupted
        self._began = time.thread_time()

    @property
    def spent(self) -> float:
        """Seconds that the preparation has computed."""
        return time.thread_time() - self._began

    def left(self) -> float | None:
        return None if self._seconds is None else self._seconds - self.spent

    def pause(self) -> None:
        left = self.left()
        if self._is_interrupted() or (left is not None and left <= 0):
            raise OutOfTime
