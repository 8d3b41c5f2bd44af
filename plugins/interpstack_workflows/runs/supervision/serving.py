"""Serve a store: wake its waiting runs, and take over those whose runners have died."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

import attrs

from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.runs.supervision.supervisor import RunSupervisor
from interpstack_workflows.stores.records import RunStatus, WorkflowRecord
from interpstack_workflows.stores.store import WorkflowStore

__all__ = ["serve"]

_log: Final = logging.getLogger("interpstack.workflows")
#: Statuses of runs that a dead runner may have abandoned.
_ABANDONED: Final[tuple[RunStatus, ...]] = ("pending", "running")
#: Runs of one status that a poll reads.
_MAX_RUNS: Final = 100_000
#: The pause after a poll is at least this many times as long as the poll took.
_PAUSE_FACTOR: Final = 4


async def serve(store: WorkflowStore, supervisor: RunSupervisor, seconds: float) -> None:
    """Poll a store for ended sleeps, new messages and abandoned runs, until this is cancelled.

    Args:
        store: The store.
        supervisor: Takes over the runs.
        seconds: The pause between two polls, which is longer while polls take long.

    Raises:
        WorkflowError: The first poll fails. A failure of a later one is logged, and the store is
            polled again.
    """
    polls = _Polls(store, supervisor)
    await polls.poll()
    while True:
        await asyncio.sleep(max(seconds, _PAUSE_FACTOR * polls.took))
        try:
            await polls.poll()
        except WorkflowError as error:
            polls.fail(error)


@attrs.define(eq=False)
class _Polls:
    """The polls of a store, and which of its faults are in the log."""

    store: WorkflowStore
    supervisor: RunSupervisor
    took: float = 0.0
    _failing: bool = False
    _damaged: frozenset[str] = frozenset()

    async def poll(self) -> None:
        """Activate the runs that are due, have messages or were abandoned.

        Raises:
            WorkflowError: The store cannot be used.
        """
        began, damaged = time.monotonic(), dict[str, WorkflowError]()
        for record in await self.store.runs(status="waiting", limit=_MAX_RUNS):
            try:
                await self._wait_for(record)
            except WorkflowError as error:
                damaged[record.id] = error
        for status in _ABANDONED:
            for record in await self.store.runs(status=status, limit=_MAX_RUNS):
                self.supervisor.adopt(record.id)
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
            self.supervisor.alarm(record.id, record.wake_at)
        read = record.options.get("messages_read", 0)
        if await self.store.messages(record.id, read):
            self.supervisor.adopt(record.id)
