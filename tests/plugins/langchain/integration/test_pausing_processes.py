"""Calls that outlast a pause, where another process resumes the eval on the same database."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[3] / "support" / "pausing_agent.py"
ANSWER = "<result>slow,paid</result>"
WAYS = pytest.mark.parametrize("way", ["async", "sync"])

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of files")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts processes, which are killed in the end."""
    started: list[subprocess.Popen[str]] = []

    def one(*args: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(PROGRAM), str(tmp_path), *args]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        return process

    yield one
    for process in started:
        process.kill()
        process.communicate()


def told(process: subprocess.Popen[str]) -> Any:
    """Where its thread has come to."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(process.communicate()[1])
    return json.loads(line)


def waits(process: subprocess.Popen[str]) -> str:
    """The line with which it says that it waits for another process."""
    assert process.stderr is not None
    for line in process.stderr:
        if "waits for another process" in line:
            return line
    raise AssertionError("it has ended")


def effects(folder: Path) -> list[str]:
    return [line.split()[0] for line in (folder / "effects").read_text().splitlines()]


def pause(start: Callable[..., subprocess.Popen[str]], way: str) -> subprocess.Popen[str]:
    """A process whose eval pauses, with a call that runs."""
    process = start(way, "start")
    assert told(process)["still_running"] == [{"name": "tools.slow", "input": '{"n": 1}'}]
    return process


@WAYS
def test_another_process_waits_for_a_call_that_runs(start: Any, way: str, tmp_path: Path) -> None:
    pause(start, way)
    other = start(way, "approve")
    assert 'the last pause left running: tools.slow({"n": 1})' in waits(other)
    assert effects(tmp_path) == ["slow"]
    (tmp_path / "go").touch()
    assert told(other) == ANSWER
    assert effects(tmp_path) == ["slow", "pay"]


def test_another_process_takes_the_answer_of_a_call_that_has_ended(
    start: Any, tmp_path: Path
) -> None:
    first = pause(start, "async")
    (tmp_path / "go").touch()
    assert first.stdout is not None
    assert first.stdout.readline() == "landed\n"
    first.kill()
    assert told(start("async", "approve")) == ANSWER
    assert effects(tmp_path) == ["slow", "pay"]


def test_the_wait_is_bounded_and_names_the_call(start: Any, tmp_path: Path) -> None:
    pause(start, "async")
    refused = told(start("async", "approve", "0.1"))
    assert 'the last pause left running: tools.slow({"n": 1})' in refused
    assert "no call was made here" in refused
    assert effects(tmp_path) == ["slow"]
    (tmp_path / "go").touch()
    assert told(start("async", "approve")) == ANSWER
    assert effects(tmp_path) == ["slow", "pay"]


def test_a_call_of_a_killed_process_is_made_again_with_its_id(start: Any, tmp_path: Path) -> None:
    first = pause(start, "async")
    other = start("async", "approve")
    waits(other)
    first.kill()
    first.wait(60)
    (tmp_path / "go").touch()
    assert told(other) == ANSWER
    calls = (tmp_path / "effects").read_text().splitlines()
    assert effects(tmp_path).count("pay") == 1
    assert len(calls) == 3
    assert len({call for call in calls if call != "pay"}) == 1, "it has one id"
