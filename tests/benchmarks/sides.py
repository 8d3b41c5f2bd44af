"""Starts the processes that measure, and takes turns among them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cases import Case

__all__ = ["Figures", "fill", "measure"]

#: Median figures by side, then by name.
Figures = dict[str, dict[str, float]]
_Found = dict[str, list[dict[str, float]]]

_HERE = Path(__file__).parent
_ERROR_CHARS = 1500
_SECONDS = 600.0  # for one answer of a process


def fill(cache: str) -> None:
    """Let a process fill a directory with compiled guests.

    Raises:
        RuntimeError: It failed.
    """
    _start("ours", "later_start", cache)


def measure(case: Case, cache: str, quick: bool = False) -> Figures:
    """Run a case: all sides in turn, round after round.

    Args:
        case: What to run.
        cache: Directory of compiled guests, filled.
        quick: One round only.

    Raises:
        RuntimeError: A side failed; its error output is in the message.
    """
    found = (_processes if case.fresh else _repetitions)(case, cache, quick)
    return {side: _medians(results) for side, results in found.items()}


def _processes(case: Case, cache: str, quick: bool) -> _Found:
    for side in case.sides:
        _start(side, case.name, cache)  # what it reads is in the system's cache now
    found: _Found = {side: [] for side in case.sides}
    for _ in range(1 if quick else case.rounds):
        for side in case.sides:
            with tempfile.TemporaryDirectory() as empty:
                found[side].append(_start(side, case.name, cache if case.cached else empty))
    return found


def _repetitions(case: Case, cache: str, quick: bool) -> _Found:
    found: _Found = {side: [] for side in case.sides}
    with ExitStack() as stack:
        workers = {s: stack.enter_context(_worker(s, case.name, cache)) for s in case.sides}
        for _ in range(1 if quick else case.rounds):
            for side, worker in workers.items():
                for _ in range(case.ours_per_round if side == "ours" and not quick else 1):
                    found[side].append(worker.once())
    return found


def _medians(results: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(result[name] for result in results) for name in results[0]}


def _command(script: str, side: str, case: str) -> list[str]:
    return [sys.executable, "-W", "ignore", str(_HERE / script), side, case]


def _environment(cache: str) -> dict[str, str]:
    off = {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
    environment = {**os.environ, **off, "INTERPSTACK_CACHE_DIR": cache}
    # Both sides as they are once installed: Python has compiled their modules before.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _start(side: str, case: str, cache: str) -> dict[str, float]:
    done = subprocess.run(
        _command("start.py", side, case),
        env=_environment(cache),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{side} failed in {case}:\n{done.stderr[-_ERROR_CHARS:]}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


class _Worker:
    """One running `worker.py`."""

    def __init__(self, side: str, case: str, cache: str) -> None:
        self._what = f"{side} failed in {case}"
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._process = subprocess.Popen(
            _command("worker.py", side, case),
            env=_environment(cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def once(self) -> dict[str, float]:
        """Have it run its case once."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, float]:
        """The next line it writes."""
        assert self._process.stdout is not None
        watchdog = threading.Timer(_SECONDS, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"{self._what}:\n{self._errors.read().decode()[-_ERROR_CHARS:]}")
        figures: dict[str, float] = json.loads(line)
        return figures

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()


@contextmanager
def _worker(side: str, case: str, cache: str) -> Iterator[_Worker]:
    worker = _Worker(side, case, cache)
    try:
        worker.answer()
        yield worker
    finally:
        worker.close()
