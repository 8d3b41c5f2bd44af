"""Workers start when they are needed, and none outlives its engine or its host."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from interpstack import BridgeSet, EngineFailure, InterpreterStack

Make = Callable[..., InterpreterStack]


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_workers_start_when_they_are_needed(make: Make, workers: Any, pid_of: Any) -> None:
    stack = make(options={"workers": 2})
    assert workers() == []
    pids = []
    for n in range(4):
        session = stack.session(f"s{n}")
        session.eval_sync("1")
        pids.append(pid_of(session))
    assert len(workers()) == 2
    assert [pids.count(pid) for pid in set(pids)] == [2, 2]


def test_a_closed_session_leaves_its_worker(make: Make) -> None:
    stack = make(options={"workers": 1})
    for _ in range(3):
        with stack.session() as session:
            session.eval_sync("1")
    (worker,) = stack.engine.pool.workers  # type: ignore[attr-defined]
    assert worker.realms == set()


def test_realms_that_nobody_holds_leave_their_worker(make: Make) -> None:
    stack = make(options={"workers": 1})
    session = stack.session("one")
    session.eval_sync("1")
    session._state.realm = None
    gc.collect()
    (worker,) = stack.engine.pool.workers  # type: ignore[attr-defined]
    assert worker.realms == set()


@pytest.mark.parametrize("how", ["closed", "forgotten"])
def test_workers_end_with_their_engine(workers: Any, until: Any, how: str) -> None:
    before = threading.active_count()
    stack = InterpreterStack("process:quickjs", options={"workers": 2})
    for n in range(2):
        stack.session(f"s{n}").eval_sync("1")
    threads = threading.active_count()
    assert len(workers()) == 2
    if how == "closed":
        engine = stack.engine
        stack.close()
        assert workers() == []
        with pytest.raises(EngineFailure, match="the engine was closed"):
            engine.open(stack.limits, BridgeSet())
    else:
        del stack
        gc.collect()
        until(lambda: not workers())
    until(lambda: threading.active_count() <= threads - 2)
    assert threading.active_count() >= before


def test_an_idle_worker_that_dies_is_replaced_at_once(
    make: Make, workers: Any, until: Any, pid_of: Any
) -> None:
    session = make(options={"workers": 1}).session("one")
    session.eval_sync("let kept = 41")
    pid = pid_of(session)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not psutil.pid_exists(pid))
    until(lambda: len(workers()) == 1)
    assert session.eval_sync("kept + 1").text == "42"
    assert pid_of(session) != pid


def held() -> tuple[int, int, int]:
    """The files, threads and children of this process."""
    process = psutil.Process()
    return process.num_fds(), process.num_threads(), len(process.children())


def test_many_deaths_leave_nothing_behind(make: Make, workers: Any, until: Any) -> None:
    session = make(options={"workers": 1}).session("one")
    session.eval_sync("let kept = 0")
    after = []
    for n in range(6):
        (worker,) = workers()
        worker.kill()
        worker.wait()
        outcome = session.eval_sync("++kept")
        assert (outcome.error, outcome.text) == (None, str(n + 1))
        after.append(held())

    def grown() -> list[int]:
        return [now - then for now, then in zip(held(), after[1], strict=True)]

    # What a death leaves behind comes once for each of the four. A pool of the host may add a
    # thread once, and the thread that watched the last worker may end a little after the cell.
    until(lambda: max(grown()) < 4 and max(grown()[::2]) <= 0)


@pytest.mark.parametrize("how", ["killed", "exit", "error", "end"])
def test_workers_end_with_their_host(tmp_path: Path, until: Any, how: str) -> None:
    """Also one that hangs and holds the interpreter's lock, so that no Python runs in it."""
    folder = Path(__file__).parents[1]
    host = subprocess.run(
        [sys.executable, str(folder / "host.py"), how, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    pids = [int(word) for word in host.stdout.split()]
    assert len(pids) == 2, host.stderr
    if how == "error":
        assert "the host fails" in host.stderr
    elif how == "end":
        assert host.stderr == ""
    until(lambda: not any(map(runs, pids)))


def test_a_forked_child_has_workers_of_its_own(make: Make, pid_of: Any) -> None:
    stack = make(options={"workers": 1})
    session = stack.session("one")
    session.eval_sync("let kept = 41")
    pid = pid_of(session)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads do not survive: they need not
        child = os.fork()
    if child == 0:
        status = 1
        try:
            outcome = session.eval_sync("kept += 1; kept")
            other = pid_of(session)
            stack.close()
            status = 0 if outcome.text == "42" and other != pid else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert psutil.pid_exists(pid)
    assert session.eval_sync("kept").text == "41"
    assert pid_of(session) == pid


def test_hibernated_sessions_leave_their_worker(make: Make) -> None:
    stack = make(options={"workers": 1}, max_live_sessions=1)
    for n in range(3):
        with stack.session(f"s{n}") as session:
            session.eval_sync(f"let kept = {n}")
    (worker,) = stack.engine.pool.workers  # type: ignore[attr-defined]
    assert len(worker.realms) == 1
    assert stack.session("s0").eval_sync("kept").text == "0"


def test_a_session_moves_away_from_a_busy_worker(make: Make, pid_of: Any) -> None:
    stack = make(options={"workers": 2})
    sessions = [stack.session(f"s{n}") for n in range(3)]
    for session in sessions:
        session.eval_sync("let kept = 41")
    busy = next(s for s in sessions[:2] if pid_of(s) == pid_of(sessions[2]))
    thread = threading.Thread(target=busy.eval_sync, args=("for (;;);",))
    thread.start()
    (worker,) = [w for w in stack.engine.pool.workers if w.pid == pid_of(busy)]  # type: ignore[attr-defined]
    while not worker.busy:
        time.sleep(0.001)
    assert sessions[2].eval_sync("kept + 1").text == "42"
    assert pid_of(sessions[2]) != worker.pid
    assert thread.is_alive()
    thread.join()
