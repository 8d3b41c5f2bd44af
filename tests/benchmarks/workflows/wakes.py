"""Runs that wait together, and how late they wake."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Awaitable, Callable

from memory import resident_bytes

__all__ = ["RUNS", "WARM_RUNS", "wait_and_wake"]

RUNS = 1000
#: Runs that wait before the memory is looked at, so that what all runs share exists.
WARM_RUNS = 50
#: Seconds in which the runs are started and come to rest, and those of late runs.
_START_SECONDS = 90.0
_LATE_SECONDS = 120.0
#: Seconds in which runs that have just woken come to their ends, and free their memory.
_SETTLE_SECONDS = 5.0


async def wait_and_wake(
    start: Callable[[float], Awaitable[None]],
    at_rest: Callable[[], Awaitable[None]],
    woken: list[float],
) -> dict[str, float]:
    """Start runs that are due within one second; look at them while they wait, and as they wake.

    Args:
        start: Starts a run that sleeps until a time, and then puts its lateness into `woken`.
        at_rest: Returns when all runs do nothing but wait.
        woken: How late runs woke, in seconds.
    """
    due = time.time() + _START_SECONDS
    # At once, so that pools of threads have grown, too.
    await asyncio.gather(*(start(due - _START_SECONDS) for _ in range(WARM_RUNS)))
    await _reached(woken, WARM_RUNS, due)
    woken.clear()
    await asyncio.sleep(_SETTLE_SECONDS)
    bytes_before, threads_before = resident_bytes(), threading.active_count()
    for number in range(RUNS):
        await start(due + number / RUNS)
    await at_rest()
    if time.time() > due:
        raise RuntimeError(f"the runs were not at rest after {_START_SECONDS:g} seconds")
    figures = {
        "bytes": (resident_bytes() - bytes_before) / RUNS,
        "threads": float(max(0, threading.active_count() - threads_before)),
    }
    await _reached(woken, RUNS, due + _LATE_SECONDS)
    return {**figures, "median": statistics.median(woken), "worst": max(woken)}


async def _reached(woken: list[float], count: int, until: float) -> None:
    while len(woken) < count:  # other event loops may add to it
        if time.time() > until:
            raise RuntimeError(f"{len(woken)} of {count} runs woke")
        await asyncio.sleep(0.05)
