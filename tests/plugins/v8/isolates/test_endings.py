"""How a process in which V8 was used ends: after every thread that could still want Python."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from interpstack_v8.isolates import endings

#: Functions that were registered first run last: after the isolates were closed.
_LISTED = """
import atexit, threading
from interpstack import InterpreterStack
from interpstack_v8.isolates.endings import isolate_threads

def tell():
    print(isolate_threads(), "interpstack-v8" in [one.name for one in threading.enumerate()])

atexit.register(tell)
session = InterpreterStack("v8").session()
print(session.eval_sync("40 + 2").text, isolate_threads() > 0)
"""
#: A thread of jsrun comes back from waking the loop when the process ends already.
_LATE = """
import asyncio, atexit, threading, time
from interpstack import InterpreterStack

wake, told, ends = asyncio.SelectorEventLoop._write_to_self, [], threading.Event()

def wake_slowly(loop):
    wake(loop)
    if not told and isinstance(threading.current_thread(), threading._DummyThread):
        told.append("late")
        ends.wait()
        time.sleep(0.5)
        told.append("back")

asyncio.SelectorEventLoop._write_to_self = wake_slowly
atexit.register(lambda: print(told))
print(InterpreterStack("v8").session().eval_sync("40 + 2").text)
atexit.register(ends.set)
"""
#: Whoever was registered before V8 comes after it.
_NEVER_CLOSED = """
import asyncio
from interpstack import InterpreterStack
from interpstack_v8.isolates import owner

owner._CLOSING_SECONDS = 0.2
owner.owner().adopt(lambda: asyncio.sleep(3600))
with InterpreterStack("v8", []) as stack, stack.session() as session:
    print(session.eval_sync("6 * 7").text)
"""
_AFTERWARDS = """
import atexit
from interpstack import BridgeSet, EngineFailure, Limits
from interpstack_v8.engine import V8Engine

def afterwards():
    try:
        realm.names()
    except EngineFailure as error:
        print(error)
    realm.close()

atexit.register(afterwards)
realm = V8Engine().open(Limits(), BridgeSet([]))
print(realm.names())
"""


def _run(program: str) -> tuple[str, str, int]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr, done.returncode


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list threads")
def test_no_thread_outlives_the_end_of_the_process() -> None:
    assert _run(_LISTED) == ("42 True\n0 False\n", "", 0)


def test_a_thread_that_is_late_does_not_meet_the_end_of_python() -> None:
    assert _run(_LATE) == ("42\n['late', 'back']\n", "", 0)


def test_an_isolate_that_never_closes_does_not_keep_the_process() -> None:
    assert _run(_NEVER_CLOSED) == ("42\n", "", 0)


def test_nothing_uses_v8_after_its_end() -> None:
    assert _run(_AFTERWARDS) == (
        "[]\nV8 cannot be used any more, because the process is ending\n",
        "",
        0,
    )


def test_deliveries_count_until_they_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = endings.DeliveryLoop()
    entered, leave = threading.Event(), threading.Event()

    def wake() -> None:
        entered.set()
        leave.wait()

    monkeypatch.setattr(loop, "_write_to_self", wake)
    thread = threading.Thread(target=loop.call_soon_threadsafe, args=[print])
    try:
        assert loop.deliveries == 0
        thread.start()
        entered.wait()
        assert loop.deliveries == 1
        leave.set()
        thread.join()
        assert loop.deliveries == 0
    finally:
        leave.set()
        loop.close()


class _Loop(endings.DeliveryLoop):
    """A loop that says how many deliveries there are, one number after the other."""

    def __init__(self, *deliveries: int) -> None:
        self.told = list(deliveries)

    @property
    def deliveries(self) -> int:
        return self.told.pop(0)

    def __del__(self) -> None:
        """Nothing was opened."""


class TestWaiting:
    @pytest.fixture
    def slept(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
        slept: list[float] = []
        monkeypatch.setattr(endings, "_THREADS", tmp_path)
        # the module's own name for it: threads that are alive go on sleeping and reading the time
        clock = SimpleNamespace(sleep=slept.append, monotonic=time.monotonic)
        monkeypatch.setattr(endings, "time", clock)
        return slept

    def test_threads_that_end_are_waited_for(
        self, slept: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left = [2, 1, 1, 0]
        monkeypatch.setattr(endings, "isolate_threads", lambda: left.pop(0))
        endings.wait_until_left(_Loop(0, 0, 0, 0))
        assert (left, len(slept)) == ([], 3)

    def test_deliveries_are_waited_for(self, slept: list[float]) -> None:
        loop = _Loop(2, 1, 0)
        endings.wait_until_left(loop)
        assert (loop.told, len(slept)) == ([], 2)

    @pytest.mark.parametrize(("computing", "seconds"), [(1, 2.0), (0, 10.0)])
    def test_a_thread_that_computes_for_ever_does_not_keep_the_process(
        self,
        slept: list[float],
        monkeypatch: pytest.MonkeyPatch,
        computing: int,
        seconds: float,
    ) -> None:
        """One of a closed isolate gets longer: it ends by itself, on a busy machine late."""
        times = iter([0.0, 0.5, seconds - 0.5, seconds, 60.0])
        monkeypatch.setattr(endings.time, "monotonic", lambda: next(times))
        monkeypatch.setattr(endings, "isolate_threads", lambda: 1)
        monkeypatch.setattr(endings, "abandoned", lambda: computing)
        endings.wait_until_left(_Loop(0, 0, 0))
        assert len(slept) == 2

    def test_where_no_threads_are_listed_they_get_a_moment(
        self, slept: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(endings, "_THREADS", tmp_path / "gone")
        endings.wait_until_left(_Loop(0))
        assert slept == [endings._LEAVING_SECONDS]

    def test_threads_of_isolates_are_known_by_their_name(
        self, slept: list[float], tmp_path: Path
    ) -> None:
        for number, name in enumerate(["python", "jsrun-deno-runt", "jsrun-deno-runt"]):
            (tmp_path / str(number)).mkdir()
            (tmp_path / str(number) / "comm").write_text(f"{name}\n")
        (tmp_path / "3").mkdir()  # a thread that has ended meanwhile
        assert endings.isolate_threads() == 2
