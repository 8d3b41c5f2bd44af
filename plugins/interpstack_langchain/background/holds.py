"""Locks on cells in the background, held until the calls in flight have ended."""

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
from interpstack_langchain.background.fates import CellOver
from interpstack_langchain.background.lock_tasks import LockTask
from interpstack_langchain.durability.landings import land

__all__ = ["Hold", "Holds"]


_log = logging.getLogger(__name__)

#: Seconds between two looks whether a cell and its conversation still exist.
_EXISTS_SECONDS: Final = 2.0
#: What a cell waits for whose lock somebody else holds.
_ELSEWHERE: Final = "calls in flight in another process"


async def _admitted() -> None:
    """Let every look begin."""


@attrs.define(eq=False, repr=False)
class Hold:
    """The lock on one cell, in a task of its own, which may outlast a look.

    Used as a context manager around a run of the cell. If the run leaves calls in flight, the lock
    is held, and answers are recorded, until they have ended.

    Attributes:
        holds: All locks of the interpreter.
        key: Identifies the cell.
        owner: Identifies the conversation.
        alone: Makes the lock.
        exists: Whether the conversation still exists.
        look: The look for which the cell runs.
        admit: Raises `CellOver` if the cell was terminated, or has ended.
        across: Keeps other processes out while an earlier look hands the lock on to this one.
        calls: The calls in flight, once the look is over.
    """

    holds: Holds
    key: str
    owner: str
    alone: Callable[[], AbstractAsyncContextManager[Any]]
    exists: Callable[[], Awaitable[bool]]
    look: TimeSlice
    admit: Callable[[], Awaitable[None]] = _admitted
    across: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext
    calls: InFlightCalls | None = None
    _earlier: InFlightCalls | None = attrs.field(default=None, init=False)
    _holding: LockTask | None = attrs.field(default=None, init=False)
    _released: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    async def __aenter__(self) -> Self:
        async with self.across() if self.holds.has(self.key) else nullcontext():
            try:
                holding = await to_end(self._begun())
                # At least some time: a look of no seconds is to find a lock that is free.
                entered = await holding.entered(max(1.0, self.look.left))
            except asyncio.CancelledError:
                self._give_up()
                raise
            if entered:
                return await self._admitted()
            if holding.task.done():
                holding.task.result()
            self._give_up()
            raise StillRunning((_ELSEWHERE,))

    async def _begun(self) -> LockTask:
        """The task that takes the lock, after the earlier look has given it back."""
        self._earlier = await self.holds.take_over(self.key)
        self._holding = LockTask(self._hold)
        return self._holding

    async def _admitted(self) -> Self:
        """The lock itself, which is held, unless the cell is over."""
        try:
            await self.admit()
        except BaseException:
            self._give_up()
            if self._earlier is None and self._holding is not None:
                await asyncio.wait({self._holding.task})
            raise
        self.holds.begin(self)
        return self

    def _give_up(self) -> None:
        """Take no lock, unless an earlier look has left calls whose answers are to be recorded."""
        if self._earlier is not None:
            self._go_on(self._earlier)
        elif self._holding is not None:
            self._holding.task.cancel()

    def _go_on(self, calls: InFlightCalls) -> None:
        """Hold the lock until these calls have ended."""
        self.calls = calls
        self.holds.add(self)
        self._released.set()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.holds.end(self)
        diverged = isinstance(error, ReplayDivergence)
        # A look that has failed early has not taken the calls of the earlier one.
        calls = self.look.calls or (None if diverged else self._earlier)
        if error is not None and calls is not None and calls.waiting:
            self._go_on(calls)
            return
        if self._earlier is not None and diverged:
            await self._earlier.stop()  # nobody will take their answers
        self._released.set()
        if self._holding is not None:
            await asyncio.wait({self._holding.task})

    async def _hold(self, entered: Callable[[], None]) -> None:
        async with self.alone():
            entered()
            await self._watch()
            if self.calls is not None:
                await self._land(self.calls)
                self.holds.forget(self)

    async def _watch(self) -> None:
        """Wait until the look is over; end it early if the cell is to be terminated."""
        released = asyncio.ensure_future(self._released.wait())
        try:
            while not released.done():
                await asyncio.wait({released}, timeout=_EXISTS_SECONDS)
                if not released.done() and await self._over():
                    self.look.cut()
        finally:
            released.cancel()

    async def _over(self) -> bool:
        """Whether the cell was terminated, as far as the checkpointer says."""
        try:
            await self.admit()
        except CellOver:
            return True
        except Exception:  # noqa: BLE001 - of the checkpointer; the look goes on
            _log.exception("whether cell %s was terminated cannot be read", self.key)
        return False

    async def _land(self, calls: InFlightCalls) -> None:
        """Record answers until all calls have ended; end the calls of a deleted conversation."""
        landing = asyncio.ensure_future(land(calls, self.key))
        try:
            over = await self._over()
            while not landing.done():
                await asyncio.wait({landing}, timeout=0 if over else _EXISTS_SECONDS)
                over = over or await self._over()
                if not landing.done() and (over or not await self.exists()):
                    await calls.stop()
                    return
            landing.result()
        finally:
            landing.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({landing})

    async def leave(self) -> None:
        """Give the lock back; the calls in flight continue."""
        if self._holding is not None:
            await self._holding.stop(_EXISTS_SECONDS)

    async def stop(self) -> Sequence[Request]:
        """Cancel the calls in flight, and give the lock back; returns the requests of the calls."""
        await self.leave()
        if self.calls is None:
            return ()
        running = self.calls.running
        await self.calls.stop()
        return running


class Holds:
    """The locks of one interpreter whose cells have calls in flight."""

    def __init__(self) -> None:
        self._held: dict[str, Hold] = {}
        self._looking: dict[str, Hold] = {}
        self._lock = threading.Lock()

    def has(self, key: str) -> bool:
        """Whether a look has left calls that still run, and the lock with them."""
        return key in self._held

    def begin(self, hold: Hold) -> None:
        """Note a lock whose look begins."""
        self._looking[hold.key] = hold

    def end(self, hold: Hold) -> None:
        """Note that the look of a lock is over."""
        with self._lock:
            if self._looking.get(hold.key) is hold:
                del self._looking[hold.key]

    def add(self, hold: Hold) -> None:
        """Note a lock that outlasts its look."""
        with self._lock:
            self._held[hold.key] = hold

    def forget(self, hold: Hold) -> None:
        """Forget a lock that was given back."""
        with self._lock:
            if self._held.get(hold.key) is hold:
                del self._held[hold.key]

    async def take_over(self, key: str) -> InFlightCalls | None:
        """Give the lock of an earlier look at a cell back, for the next look.

        Returns:
            The calls that the earlier look left running, if it did.
        """
        hold = self._held.get(key)
        if hold is None:
            return None
        self.forget(hold)
        await hold.leave()
        return hold.calls

    async def stop(self, key: str) -> Sequence[Request]:
        """End the calls in flight of a cell, and the look at it.

        Returns:
            The requests of the calls in flight that this process made.
        """
        if key in self._looking:
            self._looking[key].look.cut()
        hold = self._held.get(key)
        if hold is None:
            return ()
        self.forget(hold)
        return await hold.stop()

    async def stop_all(self, owner: str | None = None) -> None:
        """End the calls in flight of all cells, or of those of one conversation."""
        for hold in list(self._held.values()):
            if owner in (None, hold.owner):
                await self.stop(hold.key)
