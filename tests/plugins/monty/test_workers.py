"""Tests of interpstack_monty.workers: processes that are taken, stopped and given back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import fake_monty
import pytest

from interpstack import EngineFailure, Limits
from interpstack_monty import workers as module
from interpstack_monty.workers import KernelReplaced, MontyWorker, Workers, kernel_source


class _Session:
    """Monty's session, without a process unless one is given."""

    def __init__(self, pid: int | None = None, answer: Callable[[], Any] = lambda: None) -> None:
        self.worker_pid = pid
        self.answer = answer
        self.fed: list[tuple[str, dict[str, Any]]] = []
        self.left = 0

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *error: Any) -> None:
        self.left += 1
        if self.left > 1:
            raise AssertionError("it was given back twice")

    def feed_run(self, source: str, print_callback: Any, **given: Any) -> Any:
        print_callback("stdout", "never seen")
        self.fed.append((source, given))
        return self.answer()


class _Pool:
    """Monty's pool of processes."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.checkouts: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.left = 0

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *error: Any) -> None:
        self.left += 1

    def checkout(self, **options: Any) -> _Session:
        if self.error is not None:
            raise self.error
        self.checkouts.append(options)
        return _Session()


@pytest.fixture(autouse=True)
def pools(monkeypatch: pytest.MonkeyPatch) -> list[_Pool]:
    """The pools that are started."""
    started: list[_Pool] = []

    class Monty(_Pool):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            started.append(self)

    for name in ("MontyError", "MontyRuntimeError"):
        monkeypatch.setattr(module.pydantic_monty, name, getattr(fake_monty, name))
    monkeypatch.setattr(module.pydantic_monty, "Monty", Monty)
    return started


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def test_processes_are_started_with_the_first_cell_and_once(pools: list[_Pool]) -> None:
    workers = Workers(7)
    assert pools == []
    workers.take(Limits())
    workers.take(Limits())
    (pool,) = pools
    assert pool.options["max_checkouts_per_worker"] == 7
    workers.close()
    workers.close()
    assert pool.left == 1
    workers.take(Limits())  # an engine may be used again
    assert len(pools) == 2


def test_limits_go_to_monty(pools: list[_Pool]) -> None:
    workers = Workers(None)
    timed = workers.take(Limits(cpu_seconds=2.5, memory_bytes=2**22))
    free = workers.take(Limits(cpu_seconds=None, memory_bytes=None))
    assert (timed.timed, free.timed) == (True, False)
    first, second = (checkout["limits"] for checkout in pools[0].checkouts)
    assert (first["max_feed_duration_secs"], first["max_memory"]) == (2.5, 2**23)
    assert second.keys() == {"max_suspensions"}


def test_a_checker_has_memory_of_its_own_and_the_stubs(pools: list[_Pool]) -> None:
    Workers(None).take_checker("def f() -> int: ...")
    (checkout,) = pools[0].checkouts
    assert checkout["type_check_stubs"] == "def f() -> int: ..."
    assert checkout["limits"] == {"max_memory": 512 * 2**20}


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (TimeoutError("x"), "Monty workers are busy"),
        (OSError("no memory"), "no Monty worker can be started: no memory"),
        (RuntimeError("no thread"), "no Monty worker can be started: no thread"),
        (fake_monty.MontyError(OSError("x")), "no Monty worker can be started: OSError: x"),
    ],
)
def test_no_process_is_a_failure_of_the_engine(
    pools: list[_Pool], error: Exception, found: str
) -> None:
    workers = Workers(None)
    workers.take(Limits())
    pools[0].error = error
    with pytest.raises(EngineFailure, match=found):
        workers.take(Limits())


def test_many_workers_are_a_crowd_until_one_is_given_back() -> None:
    workers = Workers(None)
    held = [workers.take(Limits()) for _ in range(16)]
    assert not workers.crowded
    held.append(workers.take(Limits()))
    assert workers.crowded
    held[0].release()
    held[0].release()
    held[0].give_up()
    assert not workers.crowded
    held.append(workers.take(Limits()))
    assert workers.crowded  # a worker that is given back twice counts once


def test_code_of_the_host_is_silent_and_its_errors_are_distinguished(capfd: Any) -> None:
    def answer() -> Any:
        return next(answers)()

    def raising(error: Exception) -> Callable[[], Any]:
        def fail() -> Any:
            raise error

        return fail

    answers = iter(
        [
            lambda: 42,
            raising(fake_monty.MontyRuntimeError(ValueError("no"))),
            raising(TypeError("x" * 500)),
        ]
    )
    session = _Session(answer=answer)
    worker = MontyWorker(session, lambda: None)  # type: ignore[arg-type]
    assert worker.run("1", inputs={"a": 1}) == 42
    assert session.fed == [("1", {"inputs": {"a": 1}})]
    with pytest.raises(fake_monty.MontyRuntimeError, match="no"):
        worker.run("2")
    with pytest.raises(KernelReplaced) as replaced:
        worker.run("3")
    assert len(str(replaced.value)) < 300
    assert capfd.readouterr() == ("", "")


def test_a_turn_that_takes_too_long_is_killed(process: subprocess.Popen[bytes]) -> None:
    worker = MontyWorker(_Session(process.pid), lambda: None)  # type: ignore[arg-type]
    with worker.watched(0.0) as session:
        assert session is worker.session
        assert process.wait() == -signal.SIGKILL
    assert worker.killed
    with worker.watched(60.0):
        worker.kill()  # it is gone already
    assert worker.killed


def test_only_a_turn_that_runs_can_be_killed(process: subprocess.Popen[bytes]) -> None:
    worker = MontyWorker(_Session(process.pid), lambda: None)  # type: ignore[arg-type]
    worker.kill()
    with worker.watched(60.0):
        pass
    worker.kill()
    assert (worker.killed, process.poll()) == (False, None)
    worker.give_up()
    assert worker.killed


def test_a_fork_leaves_the_parents_worker_alone(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    returned: list[None] = []
    session = _Session(process.pid)
    worker = MontyWorker(session, lambda: returned.append(None))  # type: ignore[arg-type]
    with worker.watched(None), monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        worker.kill()
        with pytest.raises(EngineFailure, match="belongs to the parent"), worker.watched(1.0):
            raise AssertionError("it is not reached")
        worker.release()
    assert (worker.killed, session.left, returned, process.poll()) == (False, 0, [], None)


def test_after_a_fork_processes_are_the_parents(
    pools: list[_Pool], monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = Workers(None)
    assert workers.start_anew() == []
    for _ in range(17):
        workers.take(Limits())
    assert workers.start_anew() == pools[:1]
    assert not workers.crowded
    workers.close()
    assert pools[0].left == 0
    monkeypatch.setattr(module, "_users", {os.getpid(), -1})
    with pytest.raises(EngineFailure, match="fork before Monty is used"):
        workers.take(Limits())


def test_the_kernel_is_python() -> None:
    compile(kernel_source(), "kernel", "exec")
    assert "__interpstack_globals__" in kernel_source()
