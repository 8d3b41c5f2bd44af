"""Locks on cells in the background, which are held until the calls in flight have ended."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from types import TracebackType
from typing import Any, Final, Self

import attrs

from interpstack import Request, to_end
from interpstack_durable.api import InFlightCalls, ReplayDivergence, StillRunning, TimeSlice
from interpstack_langchain.background.lock_tasks import LockTask
from interpstack_langchain.background.terminations import CellOver
from interpstack_langchain.durability.late_results import record_late_results

__all__ = ["CellLock", "CellLocks"]


_log = logging.getLogger(__name__)

#: Seconds between two checks whether a cell and its conversation still exist.
_EXISTS_SECONDS: Final = 2.0
#: What a cell waits for while another process holds its lock.
_ELSEWHERE: Final = "calls in flight in another process"


async def _admitted() -> None:
    """Let every time slice begin."""


@attrs.define(eq=False, repr=False)
class CellLock:
    """The lock on one cell, held by a task that may outlast the time slice.

    Use it as a context manager around a run of the cell. If the run leaves calls in flight, the
    task keeps the lock and records their answers until all of them have ended.

    Attributes:
        locks: All cell locks of the interpreter.
        key: Identifies the cell.
        owner: Identifies the conversation.
        alone: Makes the lock.
        exists: Whether the conversation still exists.
        time_slice: The time slice in which the cell runs.
        admit: Raises `CellOver` if the cell was terminated, or has ended.
        across: Keeps other processes out while an earlier time slice hands the lock on.
        calls: The calls in flight, once the time slice is over.
    """

    locks: CellLocks
    key: str
    owner: str
    alone: Callable[[], AbstractAsyncContextManager[Any]]
    exists: Callable[[], Awaitable[bool]]
    time_slice: TimeSlice
    admit: Callable[[], Awaitable[None]] = _admitted
    across: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext
    calls: InFlightCalls | None = None
    _earlier: InFlightCalls | None = attrs.field(default=None, init=False)
    _lock_task: LockTask | None = attrs.field(default=None, init=False)
    _released: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    async def __aenter__(self) -> Self:
        async with self.across() if self.locks.has(self.key) else nullcontext():
            try:
                lock_task = await to_end(self._begun())
                # At least a second: a time slice of no seconds must still get a free lock.
                entered = await lock_task.entered(max(1.0, self.time_slice.left))
            except asyncio.CancelledError:
                self._give_up()
                raise
            if entered:
                return await self._admitted()
            if lock_task.task.done():
                lock_task.task.result()
            self._give_up()
            raise StillRunning((_ELSEWHERE,))

    async def _begun(self) -> LockTask:
        """Start the task that takes the lock, once the earlier time slice has released it."""
        self._earlier = await self.locks.take_over(self.key)
        self._lock_task = LockTask(self._hold_lock)
        return self._lock_task

    async def _admitted(self) -> Self:
        """Return the acquired lock; release it and raise if the cell is over."""
        try:
            await self.admit()
        except BaseException:
            self._give_up()
            if self._earlier is None and self._lock_task is not None:
                await asyncio.wait({self._lock_task.task})
            raise
        self.locks.begin(self)
        return self

    def _give_up(self) -> None:
        """Release the lock, unless answers of an earlier time slice's calls must be recorded."""
        if self._earlier is not None:
            self._keep_lock(self._earlier)
        elif self._lock_task is not None:
            self._lock_task.task.cancel()

    def _keep_lock(self, calls: InFlightCalls) -> None:
        """Keep the lock until these calls have ended."""
        self.calls = calls
        self.locks.add(self)
        self._released.set()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.locks.end(self)
        diverged = isinstance(error, ReplayDivergence)
        # A time slice that failed early has not taken over the calls of the earlier one.
        calls = self.time_slice.calls or (None if diverged else self._earlier)
        if error is not None and calls is not None and calls.waiting:
            self._keep_lock(calls)
            return
        if self._earlier is not None and diverged:
            await self._earlier.stop()  # no run will use their answers
        self._released.set()
        if self._lock_task is not None:
            await asyncio.wait({self._lock_task.task})

    async def _hold_lock(self, entered: Callable[[], None]) -> None:
        async with self.alone():
            entered()
            await self._watch()
            if self.calls is not None:
                await self._record_late_results(self.calls)
                self.locks.forget(self)

    async def _watch(self) -> None:
        """Wait until the time slice is over; end it early if the cell must be terminated."""
        released = asyncio.ensure_future(self._released.wait())
        try:
            while not released.done():
                await asyncio.wait({released}, timeout=_EXISTS_SECONDS)
                if not released.done() and await self._over():
                    self.time_slice.cut()
        finally:
            released.cancel()

    async def _over(self) -> bool:
        """Whether the cell was terminated, according to the checkpointer."""
        try:
            await self.admit()
        except CellOver:
            return True
        except Exception:  # noqa: BLE001 - of the checkpointer; the time slice goes on
            _log.exception("whether cell %s was terminated cannot be read", self.key)
        return False

    async def _record_late_results(self, calls: InFlightCalls) -> None:
        """Record answers until all calls have ended; end the calls of a deleted conversation."""
        recording = asyncio.ensure_future(record_late_results(calls, self.key))
        try:
            over = await self._over()
            while not recording.done():
                await asyncio.wait({recording}, timeout=0 if over else _EXISTS_SECONDS)
                over = over or await self._over()
                if not recording.done() and (over or not await self.exists()):
                    await calls.stop()
                    return
            recording.result()
        finally:
            recording.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({recording})

    async def leave(self) -> None:
        """Release the lock; the calls in flight continue."""
        if self._lock_task is not None:
            await self._lock_task.stop(_EXISTS_SECONDS)

    async def stop(self) -> Sequence[Request]:
        """Cancel the calls in flight, release the lock, and return the requests of the calls."""
        await self.leave()
        if self.calls is None:
            return ()
        running = self.calls.running
        await self.calls.stop()
        return running


class CellLocks:
    """The locks of one interpreter whose cells have calls in flight."""

    def __init__(self) -> None:
        self._outlasting: dict[str, CellLock] = {}
        self._active: dict[str, CellLock] = {}
        self._lock = threading.Lock()

    def has(self, key: str) -> bool:
        """Whether a lock outlasts its time slice because calls are still in flight."""
        return key in self._outlasting

    def begin(self, lock: CellLock) -> None:
        """Note a lock whose time slice begins."""
        self._active[lock.key] = lock

    def end(self, lock: CellLock) -> None:
        """Note that the time slice of a lock is over."""
        with self._lock:
            if self._active.get(lock.key) is lock:
                del self._active[lock.key]

    def add(self, lock: CellLock) -> None:
        """Note a lock that outlasts its time slice."""
        with self._lock:
            self._outlasting[lock.key] = lock

    def forget(self, lock: CellLock) -> None:
        """Forget a lock that was released."""
        with self._lock:
            if self._outlasting.get(lock.key) is lock:
                del self._outlasting[lock.key]

    async def take_over(self, key: str) -> InFlightCalls | None:
        """Release the lock of a cell's earlier time slice, for the next one.

        Returns:
            The calls that the earlier time slice left running, if any.
        """
        lock = self._outlasting.get(key)
        if lock is None:
            return None
        self.forget(lock)
        await lock.leave()
        return lock.calls

    async def stop(self, key: str) -> Sequence[Request]:
        """End the calls in flight of a cell, and its time slice.

        Returns:
            The requests of the calls in flight that this process made.
        """
        if key in self._active:
            self._active[key].time_slice.cut()
        lock = self._outlasting.get(key)
        if lock is None:
            return ()
        self.forget(lock)
        return await lock.stop()

    async def stop_all(self, owner: str | None = None) -> None:
        """End the calls in flight of all cells, or of those of one conversation."""
        for lock in list(self._outlasting.values()):
            if owner in (None, lock.owner):
                await self.stop(lock.key)
