"""Clocks that tests set; a plugin of pytest for the whole suite.

Tests of what happens when the time is up must not depend on how quick the machine is: on a busy one
a limit of 0.2 seconds is over before the code runs that it is to interrupt. So the limits are long,
and the clock leaps once everything is in place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from interpstack.cells.clock import CellClock


class LeapingClock:
    """Time as cells see it: it passes as anywhere else, until a test lets it leap."""

    def __init__(self) -> None:
        self._leaps: list[float] = []

    def passed(self, cell: CellClock) -> float:
        """What stands in for `CellClock.wall_seconds`."""
        began = cell._started
        return time.monotonic() - began + 3600 * sum(leap >= began for leap in self._leaps)

    def leap(self) -> None:
        """Let an hour pass for the cells that run now."""
        self._leaps.append(time.monotonic())

    def leaps_when(self, ready: Callable[[], Any] = lambda: True) -> Callable[[], Any]:
        """A handler that lets time leap, and answers, once something has happened."""

        async def late() -> None:
            async with asyncio.timeout(60):
                while not ready():  # noqa: ASYNC110 - of another handler, in any thread
                    await asyncio.sleep(0.001)
            self.leap()

        return late


@pytest.fixture
def leaping_clock(monkeypatch: pytest.MonkeyPatch) -> LeapingClock:
    """The clock of the cells of a test."""
    made = LeapingClock()
    monkeypatch.setattr(CellClock, "wall_seconds", property(made.passed))
    return made
