"""Late results of calls that a pause left running, and the lock held until they are recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import attrs

from interpstack_durable.api import InFlightCalls
from interpstack_langchain.background.lock_tasks import LockTask
from interpstack_langchain.durability.database_locks import DatabaseLocks

__all__ = ["LateResultRecorder", "record_late_results"]

_log = logging.getLogger(__name__)

#: Seconds that a record which is being written has to become safe before the next run begins.
_STOP_SECONDS: Final = 5.0


@attrs.define(eq=False, repr=False)
class LateResultRecorder:
    """Records late results of calls that a pause left running, in a task of its own.

    The lock on the eval is held until the last of the calls has ended. Other processes wait for
    it, so they find the results; the next run in this process stops the recorder instead.

    Attributes:
        locks: The locks of the database.
        key: Identifies the eval.
        calls: The calls.
        ended: Called when the recorder has stopped.
    """

    locks: DatabaseLocks
    key: str
    calls: InFlightCalls
    ended: Callable[[LateResultRecorder], None]
    _lock_task: LockTask | None = attrs.field(default=None, init=False)

    async def begin(self) -> None:
        """Begin in the run of the eval; return once the lock is held for the calls, too."""
        self._lock_task = LockTask(self._run)
        self._lock_task.task.add_done_callback(lambda task: self.ended(self))
        await self._lock_task.entered()

    async def _run(self, entered: Callable[[], None]) -> None:
        async with self.locks.lock(self.key):
            entered()
            await record_late_results(self.calls, self.key)

    async def stop(self) -> None:
        """Stop recording, for the next run in this process; the calls continue.

        A record that is being written is finished first.
        """
        if self._lock_task is not None:
            await self._lock_task.stop(_STOP_SECONDS)


async def record_late_results(calls: InFlightCalls, key: str) -> None:
    """Record the late results of an eval's calls; return once all calls have ended.

    Other processes must not make the calls before that, even if a record fails.
    """
    try:
        await calls.record_late_results()
    except Exception as error:  # noqa: BLE001 - a checkpointer may raise anything
        _log.warning(
            "the answer of a call that eval %s left running could not be recorded (%s: %s); only "
            "this process can still use it",
            key,
            type(error).__name__,
            error,
        )
        await calls.over()
