"""Batches of work for one thread: what waits when the thread is free is handed over together."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, Final, TypeVar

import attrs

__all__ = ["Batches"]

_T = TypeVar("_T")

#: Functions of one batch: their callers go on when all of them have ended.
_MOST: Final = 16


@attrs.define(eq=False, repr=False)
class _BatchedCall:
    """A function, and its caller.

    Attributes:
        function: The function.
        loop: The event loop of the caller.
        ended: The future that the caller awaits.
        result: The function's result.
        error: The exception that it raised.
    """

    function: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    ended: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def run(self) -> None:
        """Call the function, unless its caller has gone."""
        if self.ended.cancelled():
            return
        try:
            self.result = self.function()
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            self.error = error

    def answer(self) -> None:
        """Let the caller go on; called on its event loop."""
        if self.ended.done():
            return
        if self.error is None:
            self.ended.set_result(self.result)
        else:
            self.ended.set_exception(self.error)


class Batches:
    """Runs functions in a thread, in the order in which they come.

    To hand a function to a thread, and its result back, takes longer than most reads and writes.
    So this is done once for all functions that have come meanwhile.

    Args:
        thread: Runs one function at a time.
    """

    def __init__(self, thread: Executor) -> None:
        self._thread = thread
        self._lock = threading.Lock()
        self._waiting: deque[_BatchedCall] = deque()
        self._works = False

    async def run(self, function: Callable[[], _T]) -> _T:
        """Run a function, and return its result."""
        loop = asyncio.get_running_loop()
        job = _BatchedCall(function, loop, loop.create_future())
        with self._lock:
            if not self._works:
                self._thread.submit(self._work)
                self._works = True
            self._waiting.append(job)
        result: _T = await job.ended
        return result

    def _work(self) -> None:
        while batch := self._next():
            for job in batch:
                job.run()
            _answer(batch)

    def _next(self) -> Sequence[_BatchedCall]:
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(_MOST, len(self._waiting)))]
            self._works = bool(batch)
        return batch


def _answer(batch: Sequence[_BatchedCall]) -> None:
    for loop in {job.loop for job in batch}:
        jobs = [job for job in batch if job.loop is loop]
        with suppress(RuntimeError):  # the loop was closed, and its tasks with it
            loop.call_soon_threadsafe(_answer_all, jobs)


def _answer_all(jobs: Sequence[_BatchedCall]) -> None:
    for job in jobs:
        job.answer()
