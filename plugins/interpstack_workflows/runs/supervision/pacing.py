"""Pace the activations of waiting runs, so that each continues at its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

__all__ = ["EarlyStart", "Pace", "Rush", "Standby"]

#: Seconds that a start takes, until some were measured.
_FIRST_GUESS: Final = 0.01
#: The share of the latest start in what is expected of the next one.
_SHARE: Final = 0.1
#: How many times as long as the last ones the next starts may take: a machine gets busy.
_SPARE: Final = 2.0
#: Seconds by which a start may be early.
_MOST_SECONDS: Final = 60.0
#: Seconds that an end waits at most for runs whose time has come.
_MOST_PATIENCE: Final = 2.0


class Pace:
    """Compute how early waiting runs have to be made live, from how long activations took.

    Args:
        least_seconds: Seconds by which a run that is due alone is early; 0 for no early starts.
        most_runs: Runs that may be live before their times, all at once.
        clock: Seconds that pass, to measure starts.
    """

    def __init__(
        self,
        least_seconds: float,
        most_runs: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.least_seconds = least_seconds
        self.most_runs = most_runs
        self._clock = clock
        self._each = _FIRST_GUESS
        self._starting = self._done = 0
        self._since = 0.0

    @property
    def start_seconds(self) -> float:
        """Seconds that one start takes, by those of the past; starts overlap."""
        return self._each

    def lead(self, times: Iterable[float]) -> float:
        """Seconds by which the earliest of some runs has to begin, so that no run is late.

        Args:
            times: The times at which runs are due, earliest first.
        """
        if not self.least_seconds:
            return 0.0
        each, lead, first = _SPARE * self._each, 0.0, None
        for position, when in enumerate(islice(times, self.most_runs), 1):
            first = when if first is None else first
            if when - first > _MOST_SECONDS:
                break
            lead = max(lead, position * each - (when - first))
        return min(self.least_seconds + lead, _MOST_SECONDS)

    def begin(self) -> None:
        """A start begins."""
        if not self._starting:
            self._since, self._done = self._clock(), 0
        self._starting += 1

    def end(self, *, counts: bool) -> None:
        """A start has ended; one that came to nothing does not count."""
        if counts:
            # Starts overlap, so that of many at once each takes a part of the time.
            each = (self._clock() - self._since) / (self._done + self._starting)
            self._each += _SHARE * (each - self._each)
        self._starting -= 1
        self._done += 1


class EarlyStart:
    """The start of a run that is made live before its time.

    Args:
        when: The time at which the run is due, in seconds since 1970.
        pace: Learns how long the start takes.
    """

    def __init__(self, when: float, pace: Pace) -> None:
        self.when = when
        self._pace = pace
        self._ended = False
        pace.begin()

    def ready(self) -> None:
        """Note that the run has replayed its records, and waits for its time."""
        self._end(counts=True)

    def over(self) -> None:
        """Note that the run is no longer live."""
        self._end(counts=False)

    def _end(self, *, counts: bool) -> None:
        if not self._ended:
            self._ended = True
            self._pace.end(counts=counts)


class Rush:
    """Count the runs that are due and whose scripts have not continued yet.

    Other runs delay their ends for them, since nobody waits for the exact moment of an end.
    """

    def __init__(self) -> None:
        self._due = 0
        self._waiting: list[asyncio.Future[None]] = []

    def begin(self) -> None:
        """Count a run whose time has come."""
        self._due += 1

    def end(self) -> None:
        """Stop counting a run whose script has continued, or that has ended."""
        self._due -= 1
        if not self._due:
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                if not one.done():
                    one.set_result(None)

    async def over(self) -> None:
        """Wait until all due runs have continued, for at most `_MOST_PATIENCE` seconds."""
        if self._due:
            passed = asyncio.get_running_loop().create_future()
            self._waiting.append(passed)
            await asyncio.wait({passed}, timeout=_MOST_PATIENCE)


class Standby:
    """Decide how long a live run waits before it is suspended.

    Args:
        is_soon: Takes a time; returns whether a run that is due then would have to be made live
            again at once.
        rush: The runs of this process whose time has come.
        early: The start of the run, if it was made live before its time.
    """

    def __init__(
        self, is_soon: Callable[[float], bool], rush: Rush, early: EarlyStart | None = None
    ) -> None:
        self._is_soon = is_soon
        self._rush = rush
        self._early = early
        self._is_due = False

    def ready(self) -> None:
        """Note that the run only waits now."""
        if self._early is not None:
            self._early.ready()

    def due(self) -> None:
        """Note that the time of the run has come."""
        if not self._is_due:
            self._is_due = True
            self._rush.begin()

    def continued(self) -> None:
        """Note that the script has continued, or that the run has ended."""
        if self._is_due:
            self._is_due = False
            self._rush.end()

    async def others_first(self) -> None:
        """Wait for other runs that are due, before this one ends."""
        self.continued()
        await self._rush.over()

    def lasts_until(self, when: float) -> bool:
        """Return whether the run remains live until a time."""
        woken_for_it = self._early is not None and when <= self._early.when
        return woken_for_it or self._is_soon(when)
