"""Processes that are killed, and what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import stores


@attrs.define
class Life:
    """A conversation in a thread of its own, its processes, and its effects.

    Attributes:
        job: See `processes.py`.
        runner: The process that runs jobs.
    """

    job: dict[str, Any]
    runner: subprocess.Popen[str]

    @property
    def folder(self) -> Path:
        return Path(self.job["folder"])

    def run(self, kill: int | None = None, **options: Any) -> bool:
        """Go on in a new process; False if it was killed."""
        assert self.runner.stdin
        assert self.runner.stdout
        job = {**self.job, "kill": kill, **options}
        self.runner.stdin.write(json.dumps(job) + "\n")
        self.runner.stdin.flush()
        status = int(self.runner.stdout.readline())
        assert status in (0, -signal.SIGKILL), f"{self.moments()[-5:]}: see what it printed"
        return status == 0

    def moments(self) -> list[str]:
        """What was passed, in order, in all processes."""
        return [line.partition(" ")[2] for line in self._lines("moments")]

    def effects(self) -> list[tuple[int, str, float]]:
        """What was done: the call's number, its key and its input, in order."""
        return [tuple(json.loads(line)) for line in self._lines("effects")]

    def paid(self) -> list[int]:
        """What was done as somebody sees it who knows a call by its key, sorted."""
        return sorted(int(path.read_text()) for path in (self.folder / "provider").iterdir())

    def answers(self) -> list[str]:
        """What the evals of the last turn answered."""
        found: list[str] = json.loads((self.folder / "answers").read_text())
        return found

    def unrecorded(self) -> set[str]:
        """Keys of calls whose effect happened and whose record was not safe."""
        return {key for _, key, _ in self.effects()} - self._recorded("after")

    def recording(self) -> set[str]:
        """Those of them whose record was being written: it may be safe or not."""
        return self.unrecorded() & self._recorded("before")

    def _recorded(self, when: str) -> set[str]:
        """Keys of calls by what became of their record.

        A record from before the effect is of a try that failed.
        """
        moments, found = self.moments(), set()
        for n, key, _ in self.effects():
            done = [at for at, moment in enumerate(moments) if moment == f"effected {n}"]
            since = moments[done[-1] :] if done else []
            records = [m for m in since if m.startswith(when) and " record " in m]
            if any(key.rpartition(":")[2] in m.rpartition(" ")[2].split(",") for m in records):
                found.add(key)
        return found

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


@attrs.define
class Lives:
    """Makes conversations on one store."""

    store: Any
    folder: Path
    runner: subprocess.Popen[str]
    made: int = 0

    def __call__(self, steps: list[Any], **options: Any) -> Life:
        self.made += 1
        folder = self.folder / f"life{self.made}"
        folder.mkdir()
        job = {
            "store": self.store.name,
            "place": self.store.place,
            "thread": folder.name,
            "folder": str(folder),
            "steps": steps,
            "gated": [],
            "parallel": False,
            **options,
        }
        return Life(job, self.runner)


@pytest.fixture(scope="session")
def runner() -> Iterator[subprocess.Popen[str]]:
    """The process that runs jobs, each in a process of its own."""
    script = Path(__file__).with_name("processes.py")
    with subprocess.Popen(
        [sys.executable, "-W", "error", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(stores.__file__).parent)},
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()
        assert process.wait() == 0


@pytest.fixture
def lives(store: Any, runner: subprocess.Popen[str], tmp_path: Path) -> Lives:
    """Makes conversations on the store that a test's parameter names."""
    return Lives(store, tmp_path, runner)
