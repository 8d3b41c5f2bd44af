"""The calls that a pause waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from interpstack import CellRun

__all__ = ["quiesce"]

#: The bridge of timers, which do no work.
_TIMER: Final = "timer"


async def quiesce(run: CellRun, grace: float, keep: Callable[[], Awaitable[bool]]) -> None:
    """Wait until no call is running, for as long as the pause and the limits allow.

    Args:
        run: Whose calls they are.
        grace: Seconds that the pause waits at most.
        keep: Keeps the answers that came, at once: the last may take long. False if none did.
    """
    until = time.monotonic() + grace
    while at_work := _at_work(run):
        if await keep():
            continue
        wall, left = run.clock.wall_left(), until - time.monotonic()
        left = left if wall is None else min(wall, left)
        if left <= 0:
            return
        ended, _ = await asyncio.wait(at_work, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if not ended:
            return


def _at_work(run: CellRun) -> Sequence[asyncio.Task[None]]:
    started = run.requests.open.values()
    return [task for request, task in started if request.bridge != _TIMER and not task.done()]
