"""Locks of SQLite databases: they keep processes apart, and end with their process."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interpstack_langchain.durability.file_locks import FileLocks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")

HOLDS = """
import sys
from interpstack_langchain.durability.file_locks import FileLocks
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


def test_one_lock_stays_while_another_is_given_back(
    tmp_path: Path, taken_elsewhere: Callable[[str, int], bool]
) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    assert [locks.take(number) for number in (1, 2)] == [True, True]
    locks.give_back(1)
    assert taken_elsewhere(place, 1)
    assert not taken_elsewhere(place, 2)
    locks.give_back(2)
    assert taken_elsewhere(place, 2)


def test_a_child_has_no_locks_of_its_parent_and_takes_none_away(
    tmp_path: Path, taken_elsewhere: Callable[[str, int], bool]
) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    assert locks.take(1)
    pid = os.fork()
    if not pid:
        locks.abandon()
        os._exit(int(locks.take(1)))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "the parent has it"
    assert not taken_elsewhere(place, 1)
    locks.give_back(1)


def test_a_file_that_may_not_be_opened_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    locks = FileLocks(str(tmp_path / "checkpoints.db"))
    monkeypatch.setattr(os, "open", refuse)
    assert locks.take(1)
    assert "Permission denied" in caplog.text


def test_a_folder_that_cannot_be_written_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    locks = FileLocks(str(tmp_path / "gone" / "checkpoints.db"))
    assert [locks.take(1), locks.take(2)] == [True, True]
    locks.give_back(1)
    assert caplog.text.count("cannot be locked") == 1


def test_a_file_that_was_removed_keeps_no_process_apart_and_is_left(
    tmp_path: Path, taken_elsewhere: Callable[[str, int], bool]
) -> None:
    place = str(tmp_path / "checkpoints.db")
    locks = FileLocks(place)
    assert locks.take(1)
    Path(place + "-interpstack").unlink()
    assert locks.take(2)
    assert not any(taken_elsewhere(place, number) for number in (1, 2))
    assert taken_elsewhere(place, 3)
    for number in (1, 2):
        locks.give_back(number)
        assert taken_elsewhere(place, number)
    assert locks._file is None


def test_a_file_that_is_removed_while_it_is_locked_is_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_elsewhere: Callable[[str, int], bool]
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
    assert not taken_elsewhere(place, 1)
    locks.give_back(1)


def test_a_lock_that_another_process_took_on_the_next_file_is_waited_for(
    tmp_path: Path, taken_elsewhere: Callable[[str, int], bool]
) -> None:
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
    assert not any(taken_elsewhere(place, number) for number in (1, 3))
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
