"""Steps of a poll; a thread may wait for them, or ask later whether they have ended."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from typing import Any, TypeAlias, TypeVar

import attrs

from interpstack_workers.workers import Command, Worker, WorkerAnswer

__all__ = ["Asking", "Placing", "Steps", "drive", "run_steps"]

_T = TypeVar("_T")


@attrs.frozen
class Placing:
    """A step that finds a worker, which may take long."""

    place: Callable[[], Worker]

    def run(self) -> Worker:
        return self.place()

    def submit(self, threads: Executor) -> Future[Any]:
        return threads.submit(self.place)


@attrs.frozen
class Asking:
    """A step that asks a worker; see `Worker.ask`."""

    worker: Worker
    command: Command

    def run(self) -> WorkerAnswer | None:
        return self.worker.ask(self.command)

    def submit(self, threads: Executor) -> Future[Any]:
        asked = self.worker.submit(self.command)
        return threads.submit(self.run) if asked is None else asked


#: Yields steps, is sent their results, and returns what they lead to.
Steps: TypeAlias = Generator[Placing | Asking, Any, _T]


def run_steps(steps: Steps[_T]) -> _T:
    """Take the steps one after another, in the caller's thread."""
    result: Any = None
    error: Exception | None = None
    while True:
        try:
            step = steps.send(result) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        result, error = None, None
        try:
            result = step.run()
        except Exception as raised:  # noqa: BLE001 - it is thrown into the steps
            error = raised


def drive(steps: Steps[_T], threads: Executor, then: Callable[[_T], _T]) -> Future[_T]:
    """Take the steps, each in the thread in which the one before has ended.

    Args:
        steps: The steps.
        threads: Run the steps that wait.
        then: Called with what the steps return.

    Returns:
        A future of the result of `then`, which cannot be cancelled.
    """
    done: Future[_T] = Future()
    done.set_running_or_notify_cancel()

    def go_on(result: Any = None, error: BaseException | None = None) -> None:
        try:
            step = steps.send(result) if error is None else steps.throw(error)
            step.submit(threads).add_done_callback(took)
        except StopIteration as end:
            finish(end.value)
        except BaseException as raised:  # noqa: BLE001 - whoever waits for the future gets it
            done.set_exception(raised)

    def took(ended: Future[Any]) -> None:
        error = ended.exception()
        go_on(None if error else ended.result(), error)

    def finish(value: _T) -> None:
        try:
            done.set_result(then(value))
        except BaseException as raised:  # noqa: BLE001 - likewise
            done.set_exception(raised)

    go_on()
    return done
