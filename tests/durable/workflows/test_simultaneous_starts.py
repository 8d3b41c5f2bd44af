"""Of two starts with one id, one makes the run, and the other gets an error that says so."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import runner, script

from interpstack_state import MemoryStore
from interpstack_workflows.api import WorkflowError, WorkflowStore

LONG = os.environ.get("INTERPSTACK_DURABLE") == "1"
#: Runs that are started twice, on each store.
ROUNDS = 500 if LONG else 12
#: Seconds after which processes start a run: both have the line by then.
AHEAD = 0.02


class Starter:
    """A process that starts runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert self._read() == "ready"

    def start(self, run_id: str, moment: float) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([run_id, moment]) + "\n")
        self._process.stdin.flush()

    def end(self) -> list[str]:
        ended: list[str] = json.loads(self._read())
        return ended

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the process ended with {self._process.wait()}"
        return line.strip()


@contextmanager
def starters(kind: str, place: str, *names: str) -> Iterator[list[Starter]]:
    program = Path(__file__).with_name("starting.py")
    support = Path(__file__).parents[2] / "support"
    with ExitStack() as opened:
        processes, ready = [], []
        for name in names:  # the first one makes the tables
            process = opened.enter_context(
                subprocess.Popen(
                    [sys.executable, str(program), kind, place, name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "PYTHONPATH": str(support)},
                )
            )
            processes.append(process)
            ready.append(Starter(process))
        yield ready
        for one in processes:
            one.communicate(timeout=60)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_one_of_two_processes_makes_a_run(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "runs.db")
    if store.startswith("postgres"):
        place = request.getfixturevalue("postgres").new_database()
    with starters(store, place, "a", "b") as both:
        for number in range(ROUNDS):
            moment = time.time() + AHEAD
            for one in both:
                one.start(f"run_{number}", moment)
            check([one.end() for one in both], f"run_{number}", ("a", "b"))


@pytest.mark.timeout(3600)
def test_one_of_two_threads_makes_a_run() -> None:
    state = MemoryStore()
    stores = [WorkflowStore(state), WorkflowStore(state)]
    together = threading.Barrier(2)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that each thread is interrupted between any two instructions
    try:
        for number in range(ROUNDS):
            ends: list[Any] = [None, None]

            def start(one: int, number: int = number, ends: list[Any] = ends) -> None:
                together.wait()
                ends[one] = asyncio.run(created(stores[one], f"run_{number}", "ab"[one]))

            threads = [threading.Thread(target=start, args=(one,)) for one in (0, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            check(ends, f"run_{number}", ("a", "b"))
    finally:
        sys.setswitchinterval(before)


async def created(store: WorkflowStore, run_id: str, name: str) -> tuple[str, str]:
    async with runner(_echo, store) as one:  # type: ignore[arg-type]
        try:
            handle = await one.start(script("return args"), name, run_id=run_id)
        except WorkflowError as error:
            return "refused", str(error)
        result = await handle.rest()
        record = await store.read(run_id)
        assert record is not None
        return result.result, record.args


async def _echo(prompt: str) -> str:
    return prompt


def check(ends: list[Any], run_id: str, names: tuple[str, str]) -> None:
    """One start made the run and got its own result; the other one was refused."""
    refused = [message for end, message in ends if end == "refused"]
    made = [(end, message) for end, message in ends if end != "refused"]
    assert refused == [f"there is a run {run_id!r} already; leave out the id to get a new one"], (
        ends
    )
    ((result, args),) = made
    assert result == args
    assert result == names[[end for end, _ in ends].index(result)], "got the result of the other"
