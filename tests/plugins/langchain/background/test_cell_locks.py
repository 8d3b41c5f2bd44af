"""Locks on cells, which outlast a time slice while calls are in flight."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from interpstack import Request
from interpstack_durable.api import ReplayDivergence, StillRunning, TimeSlice
from interpstack_langchain.background import cell_locks
from interpstack_langchain.background.cell_locks import CellLock, CellLocks
from interpstack_langchain.background.terminations import TERMINATED, CellOver


@attrs.define(eq=False)
class Calls:
    """Calls in flight that end when the test sets `ended`."""

    keys: tuple[str, ...] = ("call",)
    running: tuple[Request, ...] = ()
    ended: asyncio.Event = attrs.field(factory=asyncio.Event)
    stopped: bool = False
    error: Exception | None = None

    @property
    def waiting(self) -> bool:
        return not self.ended.is_set()

    async def record_late_results(self) -> None:
        if self.error is not None:
            raise self.error
        await self.over()

    async def over(self) -> None:
        await self.ended.wait()

    async def stop(self) -> None:
        self.stopped = True
        self.ended.set()


@attrs.define(eq=False)
class Place:
    """A lock, and the cell locks that take it."""

    lock: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    locks: CellLocks = attrs.field(factory=CellLocks)
    there: bool = True
    over: bool = False
    unreadable: bool = False
    kept: list[bool] = attrs.field(factory=list)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        async with self.lock:
            yield

    async def exists(self) -> bool:
        return self.there

    async def admit(self) -> None:
        if self.over:
            raise CellOver(TERMINATED)
        if self.unreadable:
            raise OSError("unreadable")

    @asynccontextmanager
    async def across(self) -> AsyncIterator[None]:
        """Keep other processes out; notes whether the lock was held at the start and the end."""
        self.kept.append(self.lock.locked())
        yield
        self.kept.append(self.lock.locked())

    def cell_lock(self, seconds: float = 60, key: str = "cell", owner: str = "me") -> CellLock:
        time_slice, admit, across = TimeSlice(seconds), self.admit, self.across
        return CellLock(self.locks, key, owner, self.alone, self.exists, time_slice, admit, across)

    async def suspend(self, calls: Any, **about: Any) -> None:
        async def run() -> None:
            lock = self.cell_lock(**about)
            async with lock:
                assert self.lock.locked()
                if calls is not None:
                    lock.time_slice.leave(calls)
                raise StillRunning(("a call",))

        with pytest.raises(StillRunning):
            await run()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_run_that_ends_gives_the_lock_back() -> None:
    place = Place()
    async with place.cell_lock():
        assert place.lock.locked()
    assert not place.lock.locked()
    with pytest.raises(ValueError, match="x"):
        async with place.cell_lock():
            raise ValueError("x")
    assert not place.lock.locked()


async def test_calls_in_flight_hold_the_lock_until_they_have_ended() -> None:
    place, calls = Place(), Calls()
    await place.suspend(calls)
    await settled()
    assert place.lock.locked()
    calls.ended.set()
    await settled()
    assert not place.lock.locked()
    assert not calls.stopped


async def test_without_calls_in_flight_the_lock_is_given_back() -> None:
    place = Place()
    await place.suspend(None)
    assert not place.lock.locked()


async def test_the_next_time_slice_takes_the_lock_over_and_the_calls_continue() -> None:
    place, calls = Place(), Calls()
    await place.suspend(calls)
    async with place.cell_lock():
        assert place.lock.locked()
    assert not calls.stopped
    assert not place.lock.locked()


async def test_calls_of_a_cell_that_diverges_are_stopped() -> None:
    place, calls = Place(), Calls()
    await place.suspend(calls)
    with pytest.raises(ReplayDivergence):
        async with place.cell_lock():
            raise ReplayDivergence("the code asks for nothing more")
    assert calls.stopped
    assert not place.lock.locked()


async def test_a_cell_waits_for_a_lock_of_another_process_as_long_as_its_time_slice() -> None:
    place = Place()
    async with place.lock:
        with pytest.raises(StillRunning, match="calls in flight in another process"):
            await place.cell_lock(seconds=0).__aenter__()
    await settled()
    assert not place.lock.locked(), "nobody takes it later"


async def test_other_processes_are_kept_out_between_two_time_slices() -> None:
    place, calls = Place(), Calls()
    await place.suspend(calls)
    await settled()
    assert not place.kept, "without an earlier time slice, there is nothing to hand on"
    async with place.cell_lock():
        assert place.kept == [True, True]


@pytest.mark.parametrize("ends", ["fails", "is cancelled", "is not admitted", "cannot begin"])
async def test_calls_that_the_next_time_slice_does_not_take_over_are_recorded(
    ends: str,
) -> None:
    place, calls = Place(), Calls()
    await place.suspend(calls)
    await settled()
    place.unreadable = ends == "is not admitted"
    running = asyncio.ensure_future(_runs_slice(place, ends))
    if ends == "cannot begin":  # another process has come first
        await place.lock.acquire()
    await settled()
    if ends in ("is cancelled", "cannot begin"):
        running.cancel()
    with pytest.raises((ValueError, OSError, asyncio.CancelledError)):
        await running
    if ends == "cannot begin":
        place.lock.release()
    place.unreadable = False
    await settled()
    assert place.lock.locked()
    assert not calls.stopped
    calls.ended.set()
    await settled()
    assert not place.lock.locked()
    assert not place.locks._outlasting


async def _runs_slice(place: Place, ends: str) -> None:
    async with place.cell_lock():
        if ends == "fails":
            raise ValueError("the variables cannot be restored")
        await asyncio.Event().wait()


async def test_the_calls_of_a_cell_that_is_over_are_stopped() -> None:
    place, calls = Place(), Calls()
    await place.suspend(calls)
    await settled()
    place.over = True
    with pytest.raises(CellOver):
        await place.cell_lock().__aenter__()
    async with asyncio.timeout(30):
        await calls.ended.wait()
    await settled()
    assert calls.stopped
    assert not place.lock.locked()


async def test_a_failed_record_is_logged_and_the_lock_stays_held(
    caplog: pytest.LogCaptureFixture,
) -> None:
    place, calls = Place(), Calls(error=OSError("full"))
    await place.suspend(calls)
    await settled()
    assert "could not be recorded (OSError: full)" in caplog.text
    assert place.lock.locked()
    calls.ended.set()
    await settled()
    assert not place.lock.locked()


async def test_calls_of_one_conversation_are_stopped() -> None:
    place, mine, others = Place(), Calls(), Calls()
    await place.suspend(mine, key="a")
    await settled()
    other = Place(locks=place.locks)
    await other.suspend(others, key="b", owner="somebody")
    await place.locks.stop_all("me")
    assert (mine.stopped, others.stopped) == (True, False)
    assert not place.lock.locked()
    await place.locks.stop_all()
    assert others.stopped
    assert not other.lock.locked()


async def test_calls_of_a_deleted_conversation_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_locks, "_EXISTS_SECONDS", 0.01)
    place, calls = Place(), Calls()
    await place.suspend(calls)
    await asyncio.sleep(0.05)
    assert not calls.stopped
    place.there = False
    async with asyncio.timeout(30):
        await calls.ended.wait()
    assert calls.stopped
