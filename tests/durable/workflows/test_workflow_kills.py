"""Drawn workflows whose processes are killed end as if they had not been, and do nothing twice.

What an agent did when its process died before its record was safe is done again, with the same key;
what was recorded never is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any

import attrs
import pytest
from forked_programs import Program

STORES = ("sqlite", "postgres")
LONG = os.environ.get("INTERPSTACK_DURABLE") == "1"
#: Workflows of each store; those of a part are one test.
SEEDS = int(os.environ.get("INTERPSTACK_WORKFLOWS", "200" if LONG else "12"))
PARTS = 10 if LONG else 2
#: Workflows that run at once: most of their time, they wait for the lease of a killed process.
AT_ONCE = 8 if LONG else 6
#: Kills of one run before a process may go on to the end, and how many of them come too early.
KILLS, EARLY = 6, 0.15
#: Seconds that a runner that was killed keeps its run, and one that nobody interrupts: a busy
#: machine must not take its lease from it, since then it does some of its work again.
LEASE, WHOLE_LEASE = 1.0, 120.0


class Process:
    """The process that runs jobs, each in a process of its own."""

    def __init__(self) -> None:
        self._program = Program(Path(__file__).with_name("running.py"))

    def run(self, job: dict[str, Any]) -> tuple[bool, float]:
        """Whether a job ended by itself, and its seconds."""
        self._program.stdin.write(json.dumps(job) + "\n")
        self._program.stdin.flush()
        status, seconds, error = json.loads(self._program.stdout.readline())
        assert status in (0, -9), f"status {status}: {error}"
        return status == 0, seconds

    def close(self) -> None:
        self._program.stdin.close()
        assert self._program.wait() == 0
        self._program.close()


@pytest.fixture(scope="module")
def processes() -> Iterator[SimpleQueue[Process]]:
    """Processes for runs that go on at once; who takes one puts it back."""
    opened = [Process() for _ in range(AT_ONCE)]
    free: SimpleQueue[Process] = SimpleQueue()
    for one in opened:
        free.put(one)
    yield free
    for one in opened:
        one.close()


@attrs.frozen
class Run:
    """A drawn run on a database of its own."""

    seed: int
    store: str
    place: str
    folder: Path
    lease: float

    def job(self, kill: float | None = None, *, waiting: bool = False) -> dict[str, Any]:
        """A process that goes on with the run.

        Args:
            kill: Seconds after which it is killed.
            waiting: Whether they count from its wait for the lease, instead of from its claim.
        """
        linger = Random(self.seed).choice([0.0, 0.01, 1.0])
        folder = str(self.folder)
        given = {"linger": linger, "kill": kill, "waiting": waiting}
        return {**attrs.asdict(self), "folder": folder, **given}

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

    def pair(self, seed: int) -> tuple[Run, Run]:
        """The run that nobody interrupts, and the one whose processes are killed."""
        return self._run(seed, WHOLE_LEASE), self._run(seed, LEASE)

    def remove(self, run: Run) -> None:
        """Remove the database of a run: those of all runs would fill a disk."""
        if self.postgres is None:
            Path(run.place).unlink()
        else:
            self.postgres.drop_database(run.place)

    def _run(self, seed: int, lease: float) -> Run:
        self.made += 1
        folder = self.folder / f"run{self.made}"
        folder.mkdir()
        place = str(folder / "runs.db") if self.postgres is None else self.postgres.new_database()
        return Run(seed, self.store, place, folder, lease)


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


def each(seeds: range, runs: Runs, at_once: int, test: Callable[[Run, Run], int]) -> Iterator[int]:
    """What a test answers for the runs of each seed, several of which go on at once.

    Raises:
        ExceptionGroup: Some failed; each error names its seed.
    """
    errors: list[Exception] = []
    with ThreadPoolExecutor(at_once) as threads:
        pairs = [runs.pair(seed) for seed in seeds]
        futures = [threads.submit(test, *pair) for pair in pairs]
        for pair, future in zip(pairs, futures, strict=True):
            try:
                yield future.result()
            except Exception as error:  # noqa: BLE001 - raised with those of the other seeds
                error.add_note(f"seed {pair[0].seed} on {runs.store}, in {pair[1].folder}")
                errors.append(error)
            else:
                for run in pair:
                    runs.remove(run)
    if errors:
        raise ExceptionGroup(f"{len(errors)} of {len(seeds)} workflows failed", errors)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("runs", STORES, indirect=True)
def test_killed_at_random_moments(
    runs: Runs, part: int, processes: SimpleQueue[Process], record_property: Any
) -> None:
    def kill(whole: Run, killed: Run) -> int:
        process, random = processes.get(), Random(whole.seed)
        try:
            done, seconds = process.run(whole.job())
            assert done
            for number in range(KILLS + 1):
                # Longer each time, so that it gets further.
                patience = seconds * random.uniform(0.05, 0.8 + number / 3)
                early = random.random() < EARLY
                done, _ = process.run(
                    killed.job(patience if number < KILLS else None, waiting=early)
                )
                if done:
                    break
        finally:
            processes.put(process)
        check(whole, killed)
        return number

    deaths = list(each(range(part, SEEDS, PARTS), runs, AT_ONCE, kill))
    record_property("deaths", deaths)
    assert sum(deaths) >= len(deaths) // 2, "hardly any process was killed in time"


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("runs", ["sqlite", "postgres"], indirect=True)
def test_of_two_runners_one_is_killed(runs: Runs, processes: SimpleQueue[Process]) -> None:
    def kill_one(whole: Run, shared: Run) -> int:
        both, random = [processes.get(), processes.get()], Random(whole.seed)
        try:
            _, seconds = both[0].run(whole.job())
            patience, early = seconds * random.random(), random.random() < 0.5
            with ThreadPoolExecutor(1) as other:
                dies = other.submit(both[0].run, shared.job(patience, waiting=early))
                lives, _ = both[1].run(shared.job())
                done, _ = dies.result()
        finally:
            for process in both:
                processes.put(process)
        assert lives
        check(whole, shared)
        return not done

    last = 1000 + max(2, SEEDS // 10)
    deaths = sum(each(range(1000, last), runs, AT_ONCE // 2, kill_one))
    if not deaths:  # chance let the few of a short run all end before their death
        deaths = sum(each(range(last, last + 12), runs, AT_ONCE // 2, kill_one))
    assert deaths, "no process was killed in time"
