"""Serving: one process that wakes the waiting runs of its store, and goes on with lost ones."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from interpstack_workflows.runs.keeping.keeper import RunKeeper
from interpstack_workflows.stores.store import RunRecord, RunStatus, WorkflowStore

__all__ = ["serve"]

#: Statuses of runs that a runner may have left.
_LEFT: Final[tuple[RunStatus, ...]] = ("pending", "running")
#: Runs of one status that are looked at.
_MAX_RUNS: Final = 100_000
#: How many times as long as a look takes is the pause after it, at least.
_PAUSE_FACTOR: Final = 4


async def serve(store: WorkflowStore, keeper: RunKeeper, seconds: float) -> None:
    """Look at the store again and again: for sleeps that end, messages, and runs that were left.

    Args:
        store: The store.
        keeper: Takes the runs.
        seconds: The pause between two looks, which is longer while looks take long.
    """
    while True:
        began = time.monotonic()
        for record in await store.runs(status="waiting", limit=_MAX_RUNS):
            await _wait_for(record, store, keeper)
        for status in _LEFT:
            for record in await store.runs(status=status, limit=_MAX_RUNS):
                keeper.adopt(record.id)
        await asyncio.sleep(max(seconds, _PAUSE_FACTOR * (time.monotonic() - began)))


async def _wait_for(record: RunRecord, store: WorkflowStore, keeper: RunKeeper) -> None:
    if record.wake_at is not None:
        keeper.alarm(record.id, record.wake_at)
    read = record.options.get("messages_read", 0)
    if await store.messages(record.id, read):
        keeper.adopt(record.id)
