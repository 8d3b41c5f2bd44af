"""The thread that owns the isolates, and how a process with isolates ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interpstack_v8 import owner

_PROGRAM = """
import atexit, sys
from interpstack import InterpreterStack
from interpstack_v8.owner import isolate_threads

# Functions that were registered first run last: after the isolates were closed.
atexit.register(lambda: print(isolate_threads()))
session = InterpreterStack("v8").session()
print(session.eval_sync("40 + 2").text, isolate_threads() > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list threads")
def test_no_thread_of_an_isolate_outlives_the_end_of_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("42 True\n0\n", "", 0)


class TestWaiting:
    @pytest.fixture
    def slept(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
        slept: list[float] = []
        monkeypatch.setattr(owner, "_THREADS", tmp_path)
        monkeypatch.setattr(owner.time, "sleep", slept.append)
        return slept

    def test_threads_that_end_are_waited_for(
        self, slept: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left = [2, 1, 1, 0]
        monkeypatch.setattr(owner, "isolate_threads", lambda: left.pop(0))
        owner._wait_for_threads()
        assert (left, len(slept)) == ([], 3)

    def test_a_thread_that_computes_for_ever_does_not_keep_the_process(
        self, slept: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        times = iter([0.0, 0.5, 1.0, 1.5, 2.5])
        monkeypatch.setattr(owner.time, "monotonic", lambda: next(times))
        monkeypatch.setattr(owner, "isolate_threads", lambda: 1)
        owner._wait_for_threads()
        assert len(slept) == 3

    def test_where_no_threads_are_listed_they_get_a_moment(
        self, slept: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(owner, "_THREADS", tmp_path / "gone")
        owner._wait_for_threads()
        assert slept == [owner._LEAVING_SECONDS]

    def test_threads_of_isolates_are_known_by_their_name(
        self, slept: list[float], tmp_path: Path
    ) -> None:
        for number, name in enumerate(["python", "jsrun-deno-runt", "jsrun-deno-runt"]):
            (tmp_path / str(number)).mkdir()
            (tmp_path / str(number) / "comm").write_text(f"{name}\n")
        (tmp_path / "3").mkdir()  # a thread that has ended meanwhile
        assert owner.isolate_threads() == 2
