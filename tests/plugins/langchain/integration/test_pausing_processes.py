"""Calls that outlast a pause, where another process resumes the eval on the same database."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_programs import Program

Start = Callable[..., Program]
PROGRAM = Path(__file__).parents[3] / "support" / "pausing_agent.py"
ANSWER = "<result>slow,paid</result>"
WAYS = pytest.mark.parametrize("way", ["async", "sync"])

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of files")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts processes, which are killed in the end."""
    started: list[Program] = []

    def one(*args: str) -> Program:
        started.append(program := Program(PROGRAM, str(tmp_path), *args))
        return program

    yield one
    for program in started:
        program.close()


def answer_of(program: Program) -> Any:
    """Where its thread has come to."""
    line = program.stdout.readline()
    if not line:
        raise AssertionError(program.stderr.read())
    return json.loads(line)


def waits(program: Program) -> str:
    """The line with which it says that it waits for another process."""
    for line in program.stderr:
        if "waits for another process" in line:
            return line
    raise AssertionError("it has ended")


def effects(folder: Path) -> list[str]:
    return [line.split()[0] for line in (folder / "effects").read_text().splitlines()]


def pause(start: Start, way: str) -> Program:
    """A process whose eval pauses, with a call that runs."""
    program = start(way, "start")
    assert answer_of(program)["still_running"] == [{"name": "tools.slow", "input": '{"n": 1}'}]
    return program


@WAYS
def test_another_process_waits_for_a_call_that_runs(start: Start, way: str, tmp_path: Path) -> None:
    pause(start, way)
    other = start(way, "approve")
    assert 'the last pause left running: tools.slow({"n": 1})' in waits(other)
    assert effects(tmp_path) == ["slow"]
    (tmp_path / "go").touch()
    assert answer_of(other) == ANSWER
    assert effects(tmp_path) == ["slow", "pay"]


def test_another_process_takes_the_answer_of_a_call_that_has_ended(
    start: Start, tmp_path: Path
) -> None:
    first = pause(start, "async")
    (tmp_path / "go").touch()
    assert first.stdout.readline() == "recorded\n"
    first.kill()
    assert answer_of(start("async", "approve")) == ANSWER
    assert effects(tmp_path) == ["slow", "pay"]


def test_the_wait_is_bounded_and_names_the_call(start: Start, tmp_path: Path) -> None:
    pause(start, "async")
    refused = answer_of(start("async", "approve", "0.1"))
    assert 'the last pause left running: tools.slow({"n": 1})' in refused
    assert "no call was made here" in refused
    assert effects(tmp_path) == ["slow"]
    (tmp_path / "go").touch()
    assert answer_of(start("async", "approve")) == ANSWER
    assert effects(tmp_path) == ["slow", "pay"]


def test_a_call_of_a_killed_process_is_made_again_with_its_id(start: Start, tmp_path: Path) -> None:
    first = pause(start, "async")
    other = start("async", "approve")
    waits(other)
    first.kill()
    first.wait()
    (tmp_path / "go").touch()
    assert answer_of(other) == ANSWER
    calls = (tmp_path / "effects").read_text().splitlines()
    assert effects(tmp_path).count("pay") == 1
    assert len(calls) == 3
    assert len({call for call in calls if call != "pay"}) == 1, "it has one id"
