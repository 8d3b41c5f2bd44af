"""Alarms: the times of all runs that wait, in order, and one timer for the earliest."""

from __future__ import annotations

import asyncio
import heapq
import time
from bisect import insort
from collections.abc import Callable, Iterator
from typing import Final

from interpstack_workflows.runs.supervision.pacing import Pace

__all__ = ["Alarms"]

#: Seconds after which the clock is compared again: a machine may sleep, or its clock be set.
_RECHECK_SECONDS: Final = 30.0
#: Seconds after which runs are counted again that were rung for before their times.
_RECOUNT_SECONDS: Final = 0.1


class Alarms:
    """Calls back before times of the wall clock; each key has at most one time.

    Each key is rung for so early that the run behind the key is live at its time, however many are
    due together; see `Pace`.

    Args:
        ring: Takes the key that is to be made live, and its time.
        pace: Computes how early.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        ring: Callable[[str, float], None],
        pace: Pace,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ring = ring
        self._pace = pace
        self._clock = clock
        self._sorted: list[tuple[float, str]] = []
        self._times: dict[str, float] = {}
        self._ahead: list[float] = []  # a heap: times of keys that were rung for before
        self._timer: asyncio.TimerHandle | None = None
        #: Seconds by which the earliest key has to be rung for, as last computed.
        self.lead = pace.least_seconds

    def set(self, key: str, when: float) -> None:
        """Ring for a key because of a time, instead of because of an earlier set one."""
        self._times[key] = when
        if len(self._sorted) > 2 * len(self._times) + 64:  # most of them were cleared
            self._sorted = sorted((when, key) for key, when in self._times.items())
        else:
            insort(self._sorted, (when, key))
        self._arm(self._clock())

    def clear(self, key: str) -> None:
        """Ring no more for a key."""
        self._times.pop(key, None)

    def close(self) -> None:
        """Ring no more at all."""
        self._times.clear()
        self._sorted.clear()
        self._disarm()

    def __len__(self) -> int:
        return len(self._times)

    def _arm(self, now: float) -> None:
        """Set the timer, unless it is set for as early a time already."""
        self._drop_cleared()
        if not self._sorted:
            self._disarm()
            return
        left = max(0.0, min(self._begins(now) - now, _RECHECK_SECONDS))
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() > loop.time() + left:
            self._disarm()
            self._timer = loop.call_later(left, self._due)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop_cleared(self) -> None:
        cleared = 0
        for when, key in self._sorted:
            if self._times.get(key) == when:
                break
            cleared += 1
        del self._sorted[:cleared]

    def _due(self) -> None:
        self._timer = None
        now = self._clock()
        self._drop_cleared()
        while self._sorted and self._begins(now) <= now:
            when, key = self._sorted.pop(0)
            del self._times[key]
            if when > now:
                heapq.heappush(self._ahead, when)
            self._ring(key, when)
            self._drop_cleared()
        self._arm(now)

    def _begins(self, now: float) -> float:
        """When the earliest key has to be rung for."""
        when = self._sorted[0][0]
        while self._ahead and self._ahead[0] <= now:
            heapq.heappop(self._ahead)
        self.lead = self._pace.lead(self._in_order())
        if len(self._ahead) >= self._pace.most_runs:
            return min(when, now + _RECOUNT_SECONDS) if when > now else when
        return when - self.lead

    def _in_order(self) -> Iterator[float]:
        return (when for when, key in self._sorted if self._times.get(key) == when)
