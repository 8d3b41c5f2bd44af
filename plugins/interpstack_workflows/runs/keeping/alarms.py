"""Alarms: one heap of times for all runs that wait, and one timer for the earliest."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from typing import Final

__all__ = ["Alarms"]

#: Seconds after which the clock is compared again: a machine may sleep, or its clock be set.
_RECHECK_SECONDS: Final = 30.0


class Alarms:
    """Calls back at times of the wall clock; each key has at most one time.

    Args:
        ring: Takes the key whose time has come.
        clock: Seconds since 1970.
    """

    def __init__(self, ring: Callable[[str], None], clock: Callable[[], float] = time.time) -> None:
        self._ring = ring
        self._clock = clock
        self._heap: list[tuple[float, str]] = []
        self._times: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def set(self, key: str, when: float) -> None:
        """Ring for a key at a time, instead of at an earlier set one."""
        self._times[key] = when
        if len(self._heap) > 2 * len(self._times) + 64:  # most of them were cleared
            self._heap = [(when, key) for key, when in self._times.items()]
            heapq.heapify(self._heap)
            self._arm()
            return
        heapq.heappush(self._heap, (when, key))
        if self._heap[0] == (when, key):
            self._arm()

    def clear(self, key: str) -> None:
        """Ring no more for a key."""
        self._times.pop(key, None)

    def close(self) -> None:
        """Ring no more at all."""
        self._times.clear()
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __len__(self) -> int:
        return len(self._times)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            left = max(0.0, self._heap[0][0] - self._clock())
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(min(left, _RECHECK_SECONDS), self._due)

    def _due(self) -> None:
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            when, key = heapq.heappop(self._heap)
            if self._times.get(key) == when:
                del self._times[key]
                self._ring(key)
        self._arm()
