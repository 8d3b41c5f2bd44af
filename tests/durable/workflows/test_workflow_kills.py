"""Drawn workflows whose processes are killed end as if they had not been, and do nothing twice.

What an agent did when its process died before its record was safe is done again, with the same key;
what was recorded never is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest
import stores

STORES = ("sqlite", "sqlite-async", "postgres", "postgres-async")
LONG = os.environ.get("INTERPSTACK_DURABLE") == "1"
#: Workflows of each store; those of a part are one test.
SEEDS = int(os.environ.get("INTERPSTACK_WORKFLOWS", "200" if LONG else "12"))
PARTS = 10 if LONG else 4
#: Kills of one run before a process may go on to the end.
KILLS = 6


class Process:
    """The process that runs jobs, each in a process of its own."""

    def __init__(self) -> None:
        support = str(Path(stores.__file__).parent)
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", str(Path(__file__).with_name("running.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": support},
        )

    def run(self, job: dict[str, Any]) -> tuple[bool, float]:
        """Whether a job ended by itself, and its seconds."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        status, seconds = json.loads(self._process.stdout.readline())
        assert status in (0, -9), f"status {status}: see what it printed"
        return status == 0, seconds

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@contextmanager
def processes(count: int) -> Iterator[list[Process]]:
    opened = [Process() for _ in range(count)]
    try:
        yield opened
    finally:
        for one in opened:
            one.close()


@attrs.frozen
class Run:
    """A drawn run on a database of its own."""

    seed: int
    store: str
    place: str
    folder: Path

    def job(self, random: Random, kill: float | None = None) -> dict[str, Any]:
        linger = random.choice([0.0, 0.01, 1.0])
        return {**attrs.asdict(self), "folder": str(self.folder), "linger": linger, "kill": kill}

    def ends(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text("utf-8")) for path in self.folder.glob("result-*")]

    def effects(self) -> list[tuple[str, str]]:
        return [tuple(each) for each in self._lines("effects")]

    def again(self) -> list[tuple[str, str]]:
        """Calls of agents whose ends were recorded when the process began."""
        return [tuple(each) for each in self._lines("again")]

    def _lines(self, name: str) -> list[Any]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@attrs.define
class Runs:
    """Makes runs on one kind of store."""

    store: str
    folder: Path
    postgres: Any
    made: int = 0

    def __call__(self, seed: int) -> Run:
        self.made += 1
        folder = self.folder / f"run{self.made}"
        folder.mkdir()
        place = str(folder / "runs.db") if self.postgres is None else self.postgres.new_database()
        return Run(seed, self.store, place, folder)


@pytest.fixture
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Runs:
    server = request.getfixturevalue("postgres") if "postgres" in request.param else None
    return Runs(request.param, tmp_path, server)


def check(whole: Run, killed: Run) -> None:
    """The end is that of the uninterrupted run, and nothing that was recorded was done again."""
    (expected,) = whole.ends()
    assert expected["status"] == "completed"
    for end in killed.ends():
        assert end == expected
    assert killed.again() == []
    once = dict(whole.effects())
    assert len(once) == len(whole.effects())
    assert set(killed.effects()) == set(once.items()), "another agent was called, or by another key"


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("runs", STORES, indirect=True)
def test_killed_at_random_moments(runs: Runs, part: int) -> None:
    seeds = range(part, SEEDS, PARTS)
    deaths = 0  # some runs are too short, but not all
    with processes(1) as (process,):
        for seed in seeds:
            random = Random(seed)
            whole, killed = runs(seed), runs(seed)
            done, seconds = process.run(whole.job(random))
            assert done
            for number in range(KILLS + 1):
                # Longer each time, so that it gets further.
                patience = seconds * random.uniform(0.05, 0.8 + number / 3)
                done, _ = process.run(killed.job(random, patience if number < KILLS else None))
                if done:
                    break
                deaths += 1
            try:
                check(whole, killed)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
    assert deaths


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("runs", ["sqlite", "postgres"], indirect=True)
def test_of_two_runners_one_is_killed(runs: Runs) -> None:
    with processes(2) as both, ThreadPoolExecutor(2) as threads:
        for seed in range(1000, 1000 + max(2, SEEDS // 10)):
            random = Random(seed)
            whole, shared = runs(seed), runs(seed)
            _, seconds = both[0].run(whole.job(random))
            dies = threads.submit(both[0].run, shared.job(random, seconds * random.random()))
            lives = threads.submit(both[1].run, shared.job(random))
            assert lives.result()[0]
            dies.result()
            check(whole, shared)
