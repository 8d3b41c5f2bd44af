"""Serving: one process that wakes the waiting runs of its store, and goes on with lost ones."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

import attrs

from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.runs.keeping.keeper import RunKeeper
from interpstack_workflows.stores.records import RunStatus, WorkflowRecord
from interpstack_workflows.stores.store import WorkflowStore

__all__ = ["serve"]

_log: Final = logging.getLogger("interpstack.workflows")
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

    Raises:
        WorkflowError: The store cannot be used at first; later, that is logged, and tried again.
    """
    looks = _Looks(store, keeper)
    await looks.look()
    while True:
        await asyncio.sleep(max(seconds, _PAUSE_FACTOR * looks.took))
        try:
            await looks.look()
        except WorkflowError as error:
            looks.fail(error)


@attrs.define(eq=False)
class _Looks:
    """The looks at a store, and what of it is in the log."""

    store: WorkflowStore
    keeper: RunKeeper
    took: float = 0.0
    _failing: bool = False
    _damaged: frozenset[str] = frozenset()

    async def look(self) -> None:
        """Take the runs whose turn it is.

        Raises:
            WorkflowError: The store cannot be used.
        """
        began, damaged = time.monotonic(), dict[str, WorkflowError]()
        for record in await self.store.runs(status="waiting", limit=_MAX_RUNS):
            try:
                await self._wait_for(record)
            except WorkflowError as error:
                damaged[record.id] = error
        for status in _LEFT:
            for record in await self.store.runs(status=status, limit=_MAX_RUNS):
                self.keeper.adopt(record.id)
        for run_id in damaged.keys() - self._damaged:
            _log.warning("the run %s is not served: %s", run_id, damaged[run_id])
        if self._failing:
            _log.warning("the store can be used again: its runs are served")
        self._damaged, self._failing = frozenset(damaged), False
        self.took = time.monotonic() - began

    def fail(self, error: WorkflowError) -> None:
        """Note that the store cannot be used."""
        if not self._failing:
            _log.warning("no run is served until the store can be used again: %s", error)
        self._failing, self.took = True, 0.0

    async def _wait_for(self, record: WorkflowRecord) -> None:
        if record.wake_at is not None:
            self.keeper.alarm(record.id, record.wake_at)
        read = record.options.get("messages_read", 0)
        if await self.store.messages(record.id, read):
            self.keeper.adopt(record.id)
