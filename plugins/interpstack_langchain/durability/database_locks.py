"""Locks in a database of checkpoints, which keep runs of one eval in several processes apart.

A lock is the operating system's or the database server's. It ends with the process that holds it,
so no lock of a dead process has to expire.
"""

from __future__ import annotations

import abc
import asyncio
import logging
import threading
import time
import weakref
from contextlib import AbstractAsyncContextManager
from hashlib import blake2b
from typing import Any, Final

import attrs

from interpstack import call_blocking, to_end

__all__ = ["DatabaseLocks"]

_log = logging.getLogger(__name__)

#: Seconds between two tries of a lock that another process holds: at first, and at most.
_FIRST_WAIT: Final = 0.005
_LONGEST_WAIT: Final = 0.25
#: Seconds of waiting after which the log says so.
_LOG_SECONDS: Final = 1.0


class DatabaseLocks(abc.ABC):
    """Locks of one database, in one process, each by a key.

    The process itself must not lock a key twice at once: it would get the lock twice, as it must
    where the first holder is lost with its event loop.
    """

    #: Name of the database, for people.
    place: str

    def __init__(self) -> None:
        #: The holders that may release a lock: none that was lost before and is collected only now.
        self._holders: dict[int, _Holder] = {}
        #: Held while a lock changes hands.
        self._changing = threading.Lock()

    def lock(
        self, key: str, seconds: float | None = None, left: str = ""
    ) -> AbstractAsyncContextManager[bool]:
        """Hold a lock, once no other process does.

        Args:
            key: Names the lock.
            seconds: How long to wait at most for another process; `None` for no limit.
            left: Names the calls that the other process may still run.

        Returns:
            A context manager, whose value is whether another process held the lock before. To enter
            it raises `TimeoutError` if another process held the lock all the time.
        """
        number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") >> 2
        return _Holder(self, number, _Waiting(key, self.place, seconds, left))

    def take_on(self, loop: asyncio.AbstractEventLoop, holder: _Holder) -> bool:
        """Take a lock for a run on this loop, unless the run was thrown away meanwhile."""
        with self._changing:
            if holder.expired or loop.is_closed():
                return True  # no run waits for the lock any more
            taken = self.take(holder.number)
            if taken and not (holder.expired or loop.is_closed()):
                self._holders[holder.number] = holder
            elif taken and holder.number not in self._holders:
                self.give_back(holder.number)
            return taken

    def let_go(self, holder: _Holder) -> None:
        """Release the lock of a run, if the run still holds it."""
        with self._changing:
            self._release(holder)

    def throw_away(self, holder: _Holder) -> None:
        """`let_go` from any place in any thread: a garbage collection may interrupt `take`."""
        if not self._changing.acquire(blocking=False):
            threading.Thread(target=self.let_go, args=(holder,), daemon=True).start()
            return
        try:
            self._release(holder)
        finally:
            self._changing.release()

    def _release(self, holder: _Holder) -> None:
        if self._holders.get(holder.number) is holder:
            del self._holders[holder.number]
            self.give_back(holder.number)

    @abc.abstractmethod
    def take(self, number: int) -> bool:
        """Take a lock at once; False if another process holds it."""

    @abc.abstractmethod
    def give_back(self, number: int) -> None:
        """Release a lock, if it is held."""

    def abandon(self) -> None:
        """Forget the locks of the parent, in the child of a fork."""
        self._changing = threading.Lock()
        self._holders.clear()


@attrs.define(eq=False, repr=False)
class _Holder(AbstractAsyncContextManager[bool]):
    """One run that holds a lock, or waits for it.

    No generator: where a loop is closed, Python does not run the rest of an asynchronous generator
    that waits, but it does run the rest of a coroutine.

    Attributes:
        locks: The locks of the database.
        number: The lock.
        waiting: The wait for the lock.
        expired: Whether the run is over, or was garbage-collected.
    """

    locks: DatabaseLocks
    number: int
    waiting: _Waiting
    expired: bool = attrs.field(default=False, init=False)
    #: Weak: the locks know the holder, and must not keep a lost run from being thrown away.
    _task: weakref.ref[Any] | None = attrs.field(default=None, init=False)

    async def __aenter__(self) -> bool:
        loop, waited = asyncio.get_running_loop(), False
        self._task = weakref.ref(asyncio.current_task())
        try:
            # To the end: nothing would release a lock that arrives after a cancellation.
            while not await to_end(call_blocking(lambda: self.locks.take_on(loop, self))):
                waited = True
                await asyncio.sleep(self.waiting.pause())
        except BaseException:
            await self._leave()
            raise
        return waited

    async def __aexit__(self, *raised: object) -> None:
        await self._leave()

    async def _leave(self) -> None:
        self.expired = True
        task = None if self._task is None else self._task()
        if task is None or _current_task() is not task:
            self.locks.throw_away(self)  # so was the run: nothing can be awaited
        else:
            await to_end(call_blocking(lambda: self.locks.let_go(self)))


class _Waiting:
    """The wait for a lock: its pauses, its bound, and one line in the log.

    Args:
        key: Names the lock.
        place: Name of the database.
        seconds: How long it may take; `None` for no limit.
        left: Names the calls that the other process may still run.
    """

    def __init__(self, key: str, place: str, seconds: float | None, left: str) -> None:
        self._key, self._place, self._seconds = key, place, seconds
        self._left = f" (the last pause left running: {left})" if left else ""
        self._began = time.monotonic()
        self._next = _FIRST_WAIT
        self._logged = False

    def pause(self) -> float:
        """The time until the next try.

        Raises:
            TimeoutError: The wait has taken too long.
        """
        waited = time.monotonic() - self._began
        if self._seconds is not None and waited >= self._seconds:
            raise TimeoutError(
                f"another process has run eval {self._key}{self._left} for {self._seconds:g} s "
                f"(lock_timeout), by its lock in {self._place}; no call was made here, and the "
                "pause and its answers are unchanged. Resume the thread again once that process "
                "has ended"
            )
        if not self._logged and waited >= _LOG_SECONDS:
            self._logged = True
            _log.warning(
                "eval %s waits for another process that runs it%s, by its lock in %s; lock_timeout "
                "bounds such waits",
                self._key,
                self._left,
                self._place,
            )
        left = _LONGEST_WAIT if self._seconds is None else self._seconds - waited
        now, self._next = min(self._next, left), min(2 * self._next, _LONGEST_WAIT)
        return now


def _current_task() -> asyncio.Task[Any] | None:
    """The running task of this thread; `None` outside of all event loops."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
