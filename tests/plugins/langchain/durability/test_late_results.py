"""Late results of calls that a pause left running, recorded under the lock on their eval."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import attrs
import pytest

from interpstack_langchain.durability.databases import Database
from interpstack_langchain.durability.file_locks import FileLocks


@attrs.define(eq=False)
class Calls:
    """Calls in flight, which end when the test says so."""

    error: Exception | None = None
    go: asyncio.Event = attrs.field(factory=asyncio.Event)
    recorded: list[str] = attrs.field(factory=list)

    async def record_late_results(self) -> None:
        if self.error is not None:
            raise self.error
        await self.over()
        self.recorded.append("answer")

    async def over(self) -> None:
        await self.go.wait()


class Process:
    """Tries the lock as another process would, and counts who gave it back."""

    def __init__(self, locks: FileLocks, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held: set[int] = set()
        self.freed = 0
        monkeypatch.setattr(locks, "take", self._take)
        monkeypatch.setattr(locks, "give_back", self._give_back)

    def _take(self, number: int) -> bool:
        self.held.add(number)
        return True

    def _give_back(self, number: int) -> None:
        self.held.discard(number)
        self.freed += 1


async def _until(done: Any) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - of threads
            await asyncio.sleep(0.005)


@pytest.fixture
def locks(tmp_path: Path) -> FileLocks:
    return FileLocks(str(tmp_path / "checkpoints.db"))


async def _pause(database: Database, calls: Calls) -> None:
    async with database.alone("eval"):
        await database.record_late_results("eval", calls)  # type: ignore[arg-type]


async def test_the_lock_is_held_until_the_calls_have_ended(
    locks: FileLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, calls, database = Process(locks, monkeypatch), Calls(), Database(locks)
    await _pause(database, calls)
    assert process.held
    assert not process.freed
    assert not database.idle
    calls.go.set()
    await _until(lambda: database.idle)
    assert (calls.recorded, process.held, process.freed) == (["answer"], set(), 1)


async def test_the_next_run_of_the_process_takes_the_lock_over(
    locks: FileLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, calls, database = Process(locks, monkeypatch), Calls(), Database(locks)
    await _pause(database, calls)
    async with database.alone("eval") as waited:
        assert waited, "entries may have been recorded"
        assert process.held
        assert not process.freed, "no other process gets between the two"
        calls.go.set()
        assert database.idle
    assert (calls.recorded, process.held, process.freed) == ([], set(), 1)


async def test_a_run_that_fails_leaves_the_calls_to_be_recorded(
    locks: FileLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, calls, database = Process(locks, monkeypatch), Calls(), Database(locks)
    await _pause(database, calls)
    with pytest.raises(ValueError, match="state"):
        async with database.alone("eval"):
            raise ValueError("state")
    assert process.held
    assert not process.freed, "no other process gets between the two"
    calls.go.set()
    await _until(lambda: database.idle)
    assert (calls.recorded, process.held, process.freed) == (["answer"], set(), 1)


async def test_the_lock_is_kept_while_one_run_hands_it_on_to_the_next(
    locks: FileLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, database, go = Process(locks, monkeypatch), Database(locks), asyncio.Event()

    async def hold() -> None:
        async with database.alone("eval"):
            await go.wait()

    running = asyncio.ensure_future(hold())
    await _until(lambda: process.held)
    async with database.across("eval"):
        go.set()
        await running
        assert process.held
        running = asyncio.ensure_future(hold())
        await running
        assert not process.held, "it belongs to the next run"
    assert process.freed == 1


async def test_a_lock_of_another_process_is_not_waited_for(
    locks: FileLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "take", lambda number: False)
    async with Database(locks).across("eval"), Database(None).across("eval"):
        pass


async def test_a_failed_record_is_logged_and_the_lock_stays_held(
    locks: FileLocks, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    process, calls, database = Process(locks, monkeypatch), Calls(OSError("full")), Database(locks)
    await _pause(database, calls)
    await _until(lambda: "could not be recorded (OSError: full)" in caplog.text)
    assert process.held
    calls.go.set()
    await _until(lambda: database.idle)
    assert not process.held


def test_a_loop_that_ends_gives_the_lock_back(
    locks: FileLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, database = Process(locks, monkeypatch), Database(locks)

    async def pause() -> None:
        await _pause(database, Calls())
        assert process.held

    asyncio.run(pause())
    assert not process.held
    assert database.idle


async def test_nothing_is_recorded_without_a_lock() -> None:
    calls, database = Calls(), Database(None)
    await _pause(database, calls)
    calls.go.set()
    await asyncio.sleep(0)
    assert not calls.recorded
    assert database.idle
