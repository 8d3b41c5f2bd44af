"""The time limit of preparing a cell, measured as computing time of the preparing thread."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["ScanDeadline", "ScanTimeout"]


class ScanTimeout(Exception):
    """The time limit of a cell was reached before any of its code ran."""


class ScanDeadline:
    """The computing time that remains to a cell during its preparation.

    Args:
        seconds: The limit in seconds; `None` for no limit.
        is_stopped: Returns whether the cell was stopped in the meantime.
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

    def check(self) -> None:
        """Return if the cell was not stopped and time remains.

        Raises:
            ScanTimeout: The time limit is reached, or the cell was stopped.
        """
        left = self.left()
        if self._is_stopped() or (left is not None and left <= 0):
            raise ScanTimeout
