"""Runs that hold a lock: however they end, they leave none, and waits are bounded."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpstack_langchain.durability import database_locks
from interpstack_langchain.durability.file_locks import FileLocks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")


async def test_a_cancelled_run_leaves_no_lock(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)

    async def hold() -> None:
        async with locks.lock("eval"):
            await asyncio.Event().wait()

    for steps in range(6):
        running = asyncio.ensure_future(hold())
        for _ in range(steps):
            await asyncio.sleep(0.002)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    async with FileLocks(place).lock("eval") as waited:
        assert not waited
    assert locks._file is None


def test_a_run_whose_loop_was_closed_leaves_no_lock(tmp_path: Path) -> None:
    locks = FileLocks(str(tmp_path / "checkpoints.db"))

    async def hold() -> None:
        async with locks.lock("eval"):
            await asyncio.Event().wait()

    loop = asyncio.new_event_loop()
    running = hold()
    task = loop.create_task(running)
    while locks._file is None or not locks._held:
        loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    running.close()
    assert locks._file is None
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_run_that_is_thrown_away_while_it_waits_for_a_lock_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = FileLocks(str(tmp_path / "checkpoints.db"))
    trying, go_on = threading.Event(), threading.Event()
    ended: list[bool] = []
    take = locks.take

    def slow(number: int) -> bool:
        trying.set()
        go_on.wait(60)
        ended.append(take(number))
        return ended[0]

    monkeypatch.setattr(locks, "take", slow)

    async def hold() -> None:
        async with locks.lock("eval"):
            raise AssertionError("nobody waits for the lock any more")

    loop = asyncio.new_event_loop()
    running = hold()
    task = loop.create_task(running)
    while not trying.is_set():
        loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    running.close()
    go_on.set()
    for _ in range(6000):
        if ended and locks._file is None:
            break
        time.sleep(0.01)
    assert ended == [True]
    assert locks._file is None
    task._log_destroy_pending = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("thrown", ["before", "after"])
def test_a_loop_that_closes_right_before_or_after_a_lock_is_taken_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thrown: str
) -> None:
    """Nobody hears of the lock: the run is thrown away, and its loop closed before or after it."""
    locks = FileLocks(str(tmp_path / "checkpoints.db"))
    trying, go_on, taken = threading.Event(), threading.Event(), threading.Event()
    take, take_on = locks.take, locks.take_on

    def slow(number: int) -> bool:
        if thrown == "before":
            trying.set()
            assert go_on.wait(60)
        done = take(number)
        trying.set()
        return done

    def take_slowly(*args: Any) -> bool:
        try:
            return take_on(*args)
        finally:
            taken.set()

    monkeypatch.setattr(locks, "take", slow)
    monkeypatch.setattr(locks, "take_on", take_slowly)

    async def hold() -> None:
        async with locks.lock("eval"):
            raise AssertionError("nobody waits for the lock any more")

    async def begin(running: Any) -> None:
        tasks.append(asyncio.ensure_future(running))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    loop, running = asyncio.new_event_loop(), hold()
    tasks: list[asyncio.Future[None]] = []
    loop.run_until_complete(begin(running))
    assert (trying if thrown == "before" else taken).wait(60)
    tasks[0]._log_destroy_pending = False  # type: ignore[attr-defined]
    if thrown == "before":
        running.close()
    else:
        loop.close()
    tasks.clear()
    del running
    gc.collect()
    go_on.set()
    assert taken.wait(60)
    loop.close()
    ends = time.monotonic() + 60
    while locks._holders and time.monotonic() < ends:  # another thread may give it back
        gc.collect()
        time.sleep(0.01)
    assert not locks._holders
    assert locks._file is None


def test_a_run_that_is_thrown_away_with_another_error_leaves_no_lock(tmp_path: Path) -> None:
    """Code inside may not survive the end in another context, and raise what it likes."""
    locks, inside = FileLocks(str(tmp_path / "checkpoints.db")), list[str]()

    async def hold() -> None:
        async with locks.lock("eval"):
            inside.append("hold")
            try:
                await asyncio.Event().wait()
            finally:
                raise ValueError("created in a different Context")

    loop = asyncio.new_event_loop()
    running = hold()
    task = loop.create_task(running)
    while not inside:
        loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()

    async def elsewhere() -> None:  # a loop that runs, but is not that of the run
        with pytest.raises(ValueError, match="different Context"):
            running.close()

    asyncio.run(elsewhere())
    assert locks._file is None
    task._log_destroy_pending = False  # type: ignore[attr-defined]


async def test_a_wait_for_another_process_is_reported_once_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database_locks, "_LOG_SECONDS", 0.0)
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    monkeypatch.setattr(locks, "take", lambda number: False)
    with pytest.raises(TimeoutError, match=r"another process has run eval my-eval for 0\.1 s"):
        async with locks.lock("my-eval", 0.1):
            raise AssertionError("the other process has it")
    ours = [one for one in caplog.records if one.name == database_locks.__name__]
    (line,) = [one.getMessage() for one in ours]
    assert "eval my-eval waits for another process" in line
    assert f"{place}-interpstack" in line
    assert not locks._holders


def test_a_holder_that_was_lost_takes_no_lock_from_the_next_one(
    tmp_path: Path, taken_elsewhere: Callable[[str, int], bool]
) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)

    async def hold() -> None:
        async with locks.lock("eval"):
            await asyncio.Event().wait()

    loop = asyncio.new_event_loop()
    lost = hold()
    task = loop.create_task(lost)
    while not locks._held:
        loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()

    async def next_one() -> bool:
        async with locks.lock("eval"):
            (number,) = locks._held
            lost.close()
            return taken_elsewhere(place, number)

    assert not asyncio.run(next_one())
    assert locks._file is None
    task._log_destroy_pending = False  # type: ignore[attr-defined]
