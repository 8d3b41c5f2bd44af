"""Tests of interpstack_process.confine; limits are put on processes of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_process.confine import WorkerLimits, environment

_CONFINE = """
import json, resource, sys
from interpstack_process.confine import confine
before, wanted = json.loads(sys.argv[1])
for name, value in before.items():
    resource.setrlimit(getattr(resource, name), (value, value))
confine(wanted)
names = ("RLIMIT_CORE", "RLIMIT_DATA", "RLIMIT_CPU", "RLIMIT_NOFILE")
print(json.dumps({name: resource.getrlimit(getattr(resource, name)) for name in names}))
"""


def confined(before: dict[str, int], **wanted: int | None) -> dict[str, list[int]]:
    """Soft and hard limits of a process that had some before."""
    limits = {"memory_bytes": None, "cpu_seconds": None, "files": None, **wanted}
    done = subprocess.run(
        [sys.executable, "-c", _CONFINE, json.dumps([before, limits])],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[int]] = json.loads(done.stdout)
    return found


def test_limits_hold_for_good_and_no_core_is_dumped() -> None:
    found = confined({}, memory_bytes=2**30, files=100)
    assert found["RLIMIT_CORE"] == [0, 0]
    assert found["RLIMIT_DATA"] == [2**30, 2**30]
    assert found["RLIMIT_NOFILE"] == [100, 100]


def test_the_kernel_warns_before_cpu_time_ends() -> None:
    assert confined({}, cpu_seconds=100)["RLIMIT_CPU"] == [100, 101]


def test_a_lower_limit_stays() -> None:
    before = {"RLIMIT_NOFILE": 64, "RLIMIT_CPU": 50}
    found = confined(before, files=100, cpu_seconds=100)
    assert (found["RLIMIT_NOFILE"], found["RLIMIT_CPU"]) == ([64, 64], [50, 50])


def test_what_has_no_limit_is_left_alone() -> None:
    assert confined({"RLIMIT_NOFILE": 77})["RLIMIT_NOFILE"] == [77, 77]


@pytest.mark.parametrize(
    ("name", "least"), [("memory_bytes", 2**26), ("cpu_seconds", 1), ("files", 32)]
)
def test_limits_are_whole_numbers_that_a_worker_can_live_with(name: str, least: int) -> None:
    assert getattr(WorkerLimits(**{name: least}), name) == least
    assert getattr(WorkerLimits(**{name: None}), name) is None
    wrong: list[Any] = [least - 1, float(least), True, str(least)]
    for value in wrong:
        with pytest.raises(ConfigurationError, match=f"worker_{name} takes a whole .* {least}"):
            WorkerLimits(**{name: value})


def test_a_worker_gets_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("PYTHONSTARTUP", "x.py")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    made = environment({"GIVEN": "1"})
    assert (made["TZ"], made["GIVEN"]) == ("UTC", "1")
    assert not {"API_KEY", "PYTHONSTARTUP", "LD_LIBRARY_PATH", "PATH"} & made.keys()


def test_a_worker_finds_the_packages_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "/packages", f"/odd{os.pathsep}path"])
    made = environment({"PYTHONPATH": "/elsewhere"})
    assert made["PYTHONPATH"] == os.pathsep.join([str(Path.cwd()), "/packages"])
