"""Tests of interpstack_workers.steps: the same steps in one thread, and in none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from interpstack_workers import Command, Worker, WorkerAnswer, WorkerDied
from interpstack_workers.steps import Asking, Placing, Steps, drive, run_steps


class Answering(Worker):
    """A worker that answers at once, or when a test says so."""

    busy = False

    def __init__(self) -> None:
        self.waiting: list[Future[WorkerAnswer | None]] = []
        self.deaths = 0

    def ask(self, command: Command) -> WorkerAnswer | None:
        if self.deaths:
            self.deaths -= 1
            raise WorkerDied("died", unread=True)
        return WorkerAnswer({"done": command.message["do"]}, command.attached)

    def submit(self, command: Command) -> Future[WorkerAnswer | None] | None:
        self.waiting.append(Future())
        return self.waiting[-1]

    def leave(self, realm: int) -> None: ...

    def end(self, reason: str | None) -> None: ...


def _asking(worker: Worker) -> Asking:
    return Asking(worker, Command({"do": "poll"}, b"x", seconds=1.0))


def _steps(place: Callable[[], Worker]) -> Steps[str]:
    worker = yield Placing(place)
    for _ in range(3):
        try:
            answer = yield _asking(worker)
        except WorkerDied:
            continue
        return str(answer.message["done"])
    raise LookupError("no worker stays alive")


def test_steps_are_taken_in_the_thread_of_the_caller() -> None:
    worker = Answering()
    assert run_steps(_steps(lambda: worker)) == "poll"
    worker.deaths = 2
    assert run_steps(_steps(lambda: worker)) == "poll"
    worker.deaths = 3
    with pytest.raises(LookupError, match="no worker stays alive"):
        run_steps(_steps(lambda: worker))


def test_a_step_that_waits_holds_no_thread() -> None:
    worker = Answering()
    with ThreadPoolExecutor(1) as threads:
        running = [drive(_steps(lambda: worker), threads, str.upper) for _ in range(20)]
        threads.submit(lambda: None).result()  # the one thread has placed all of them
        assert len(worker.waiting) == 20
        assert not any(one.done() for one in running)
        for waiting in worker.waiting:
            waiting.set_result(WorkerAnswer({"done": "poll"}, b""))
        assert {one.result(5) for one in running} == {"POLL"}


def test_a_worker_that_takes_no_commands_without_waiting_is_asked_in_a_thread() -> None:
    class Asked(Answering):
        def submit(self, command: Command) -> None:
            return None

    with ThreadPoolExecutor(1) as threads:
        assert drive(_steps(Asked), threads, str.upper).result(5) == "POLL"


def test_the_death_of_a_worker_is_thrown_into_the_steps() -> None:
    worker = Answering()
    with ThreadPoolExecutor(1) as threads:
        running = drive(_steps(lambda: worker), threads, lambda text: text)
        for number in range(3):
            threads.submit(lambda: None).result()
            worker.waiting[number].set_exception(WorkerDied("died", unread=True))
        with pytest.raises(LookupError):
            running.result(5)
        assert not running.cancel()


def test_errors_of_placing_and_of_the_last_step_reach_the_caller() -> None:
    def place() -> Worker:
        raise KeyError(threading.current_thread().name)

    def broken(text: str) -> str:
        raise ValueError(text)

    worker = Answering()
    with ThreadPoolExecutor(1, "opener") as threads:
        with pytest.raises(KeyError, match="opener"):
            drive(_steps(place), threads, str).result(5)
        running = drive(_steps(lambda: worker), threads, broken)
        threads.submit(lambda: None).result()
        worker.waiting[0].set_result(WorkerAnswer({"done": "poll"}, b""))
        with pytest.raises(ValueError, match="poll"):
            running.result(5)
