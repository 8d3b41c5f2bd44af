"""Locks of SQLite databases: they keep processes apart, and end with their process."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from interpstack_langchain.durability import database_locks
from interpstack_langchain.durability.database_locks import FileLocks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")

HOLDS = """
import sys
from interpstack_langchain.durability.database_locks import FileLocks
locks = FileLocks(sys.argv[1])
print(locks.take(1), locks.take(2), flush=True)
sys.stdin.readline()
locks.give_back(1)
print("gave one back", flush=True)
sys.stdin.readline()
"""


def test_another_process_gets_what_is_given_back_and_what_the_dead_held(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    with _holder(place) as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "True True\n"
        assert [locks.take(number) for number in (1, 2, 3)] == [False, False, True]
        other.stdin.write("\n")
        other.stdin.flush()
        other.stdout.readline()
        assert [locks.take(number) for number in (1, 2)] == [True, False]
        other.kill()
        other.wait()
    assert locks.take(2)
    for number in (1, 2, 3):
        locks.give_back(number)


def test_one_lock_stays_while_another_is_given_back(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    assert [locks.take(number) for number in (1, 2)] == [True, True]
    locks.give_back(1)
    assert _taken_elsewhere(place, 1)
    assert not _taken_elsewhere(place, 2)
    locks.give_back(2)
    assert _taken_elsewhere(place, 2)


def test_a_child_has_no_locks_of_its_parent_and_takes_none_away(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    assert locks.take(1)
    pid = os.fork()
    if not pid:
        locks.abandon()
        os._exit(int(locks.take(1)))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "the parent has it"
    assert not _taken_elsewhere(place, 1)
    locks.give_back(1)


async def test_a_cancelled_run_leaves_no_lock(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)

    async def hold() -> None:
        async with locks.held("eval"):
            await asyncio.Event().wait()

    for steps in range(6):
        running = asyncio.ensure_future(hold())
        for _ in range(steps):
            await asyncio.sleep(0.002)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    async with FileLocks(place).held("eval") as waited:
        assert not waited
    assert locks._file is None


def test_a_run_whose_loop_was_closed_leaves_no_lock(tmp_path: Path) -> None:
    locks = FileLocks(str(tmp_path / "checkpoints.db"))

    async def hold() -> None:
        async with locks.held("eval"):
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
        async with locks.held("eval"):
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
        async with locks.held("eval"):
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
    locks = FileLocks(str(tmp_path / "checkpoints.db"))

    async def hold() -> None:
        async with locks.held("eval"):
            try:
                await asyncio.Event().wait()
            finally:
                raise ValueError("created in a different Context")

    loop = asyncio.new_event_loop()
    running = hold()
    task = loop.create_task(running)
    while not locks._held:
        loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()

    async def elsewhere() -> None:  # a loop that runs, but is not that of the run
        with pytest.raises(ValueError, match="different Context"):
            running.close()

    asyncio.run(elsewhere())
    assert locks._file is None
    task._log_destroy_pending = False  # type: ignore[attr-defined]


async def test_a_wait_for_another_process_is_told_once_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database_locks, "_TELL_SECONDS", 0.0)
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    monkeypatch.setattr(locks, "take", lambda number: False)
    with pytest.raises(TimeoutError, match=r"another process has run eval my-eval for 0\.1 s"):
        async with locks.held("my-eval", 0.1):
            raise AssertionError("the other process has it")
    ours = [one for one in caplog.records if one.name == database_locks.__name__]
    (line,) = [one.getMessage() for one in ours]
    assert "eval my-eval waits for another process" in line
    assert f"{place}-interpstack" in line
    assert not locks._holders


def test_a_holder_that_was_lost_takes_no_lock_from_the_next_one(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)

    async def hold() -> None:
        async with locks.held("eval"):
            await asyncio.Event().wait()

    loop = asyncio.new_event_loop()
    lost = hold()
    task = loop.create_task(lost)
    while not locks._held:
        loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()

    async def next_one() -> bool:
        async with locks.held("eval"):
            (number,) = locks._held
            lost.close()
            return _taken_elsewhere(place, number)

    assert not asyncio.run(next_one())
    assert locks._file is None
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_file_that_may_not_be_opened_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    locks = FileLocks(str(tmp_path / "checkpoints.db"))
    monkeypatch.setattr(os, "open", refuse)
    assert locks.take(1)
    assert "Permission denied" in caplog.text


def test_a_folder_that_cannot_be_written_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    locks = FileLocks(str(tmp_path / "gone" / "checkpoints.db"))
    assert [locks.take(1), locks.take(2)] == [True, True]
    locks.give_back(1)
    assert caplog.text.count("cannot be locked") == 1


def test_a_file_that_was_removed_keeps_no_process_apart_and_is_left(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    assert locks.take(1)
    Path(place + "-interpstack").unlink()
    assert locks.take(2)
    assert not any(_taken_elsewhere(place, number) for number in (1, 2))
    assert _taken_elsewhere(place, 3)
    for number in (1, 2):
        locks.give_back(number)
        assert _taken_elsewhere(place, number)
    assert locks._file is None


def test_a_file_that_is_removed_while_it_is_locked_is_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks, opened, plain = FileLocks(place), list[str](), os.open

    def open_and_remove(path: str, *arguments: int) -> int:
        opened.append(path)
        file = plain(path, *arguments)
        if len(opened) == 1:
            Path(path).unlink()
        return file

    monkeypatch.setattr(os, "open", open_and_remove)
    assert locks.take(1)
    monkeypatch.undo()
    assert len(opened) == 2
    assert not _taken_elsewhere(place, 1)
    locks.give_back(1)


def test_a_lock_that_another_process_took_on_the_next_file_is_waited_for(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    assert locks.take(1)
    Path(place + "-interpstack").unlink()
    with _holder(place) as other:
        assert other.stdout
        assert other.stdout.readline() == "True True\n"
        assert not locks.take(3), "its own lock is not one any more"
        other.kill()
        other.wait()
    assert locks.take(3)
    assert not any(_taken_elsewhere(place, number) for number in (1, 3))
    for number in (1, 3):
        locks.give_back(number)


def _holder(place: str) -> subprocess.Popen[str]:
    """Another process that takes locks 1 and 2, and gives the first back at a line."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLDS, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _taken_elsewhere(place: str, number: int) -> bool:
    """Whether another process can take a lock."""
    pid = os.fork()
    if not pid:
        os._exit(int(FileLocks(place).take(number)))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
