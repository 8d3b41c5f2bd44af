"""The soak in short: hours of mixed load in which nothing is lost, wrong, or left behind.

`INTERPSTACK_SOAK_SECONDS` says how long it takes; `tox -e soak` has ten minutes. A short run says
nothing about growth, which is judged from a minute on.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOAK = Path(__file__).parents[1] / "soak"
SECONDS = float(os.environ.get("INTERPSTACK_SOAK_SECONDS", "2"))
LONG = 60.0


def test_growth_is_distinguished_from_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SOAK))
    samples = importlib.import_module("samples")

    def grew(*files: int) -> bool:
        taken = [{"host": samples.Sample(100 * 2**20, 9, count, 3, 1)} for count in files]
        (found,) = [one for one in samples.growth(taken) if one.figure == "files"]
        return not found.flat

    assert not grew(*[20] * 40)
    assert not grew(*range(10, 30), *[30] * 20)  # at first only
    assert not grew(*[20, 26, 20, 19] * 10)  # up and down
    assert not grew(*[25, 8, 31, 14, 28, 10, 33, 12, 26, 35] * 4)  # widely, and up by chance
    assert grew(*range(20, 60))
    assert grew(*[20 + n + 5 * (n % 3) for n in range(40)])  # not evenly
    assert grew(*[20 + n // 4 for n in range(40)])


def test_effects_that_are_lost_or_done_twice_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(SOAK))
    log = importlib.import_module("gates").Log(tmp_path)
    for name, least, most in (("a", 1, 1), ("b", 1, 1), ("c", 0, 1), ("d", 0, 1), ("e", 1, 1)):
        log.expect(name, least, most)
    for name in ("a", "c", "e", "e", "f"):
        log.write(name)
    log.close()
    assert log.differences() == (
        ["b: done 0 times"],
        ["e: done 2 times", "f: expected by nobody"],
    )


@pytest.mark.timeout(1200 + 2 * SECONDS)
@pytest.mark.skipif(sys.platform != "linux", reason="reads what the kernel tells of processes")
def test_nothing_is_lost_wrong_or_left_behind(postgres: Any, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-W", "ignore", str(SOAK / "run.py")]
    options = ["--seconds", f"{SECONDS:g}", "--json", str(report)]
    growth = [] if SECONDS >= LONG else ["--no-growth"]
    done = subprocess.run(
        [*command, *options, *growth, "--database", postgres.new_database()],
        env={**os.environ, "PYTHONPATH": str(SOAK.parent / "support")},
        stdout=subprocess.PIPE,
        text=True,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    found = json.loads(report.read_text())
    assert (found["lost"], found["wrong"]) == (0, 0)
    assert sum(found["steps"].values()) > 0
    assert {one["kind"] for one in found["growth"]} >= {"host", "server"}
