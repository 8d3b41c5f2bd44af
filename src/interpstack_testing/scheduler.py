"""Guest tasks of the fake engine: they run in turn, within a CPU time, until all wait."""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
from collections.abc import Awaitable, Coroutine, Generator, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

import attrs

__all__ = ["Promise", "ScriptScheduler", "Stopped"]

#: Seconds that the clean-up code of one aborted task may take.
_WIND_DOWN_SECONDS = 0.05
#: How often it may wait for something; each time ends where it waits.
_WIND_DOWN_AWAITS = 100


class Stopped(BaseException):
    """Raised into guest code whose time is up."""


@attrs.define(eq=False)
class Promise:
    """A promise of guest code: the answer to a request, or the end of a task."""

    done: bool = False
    value: Any = None
    error: BaseException | None = None

    def resolve(self, value: Any) -> None:
        self.done, self.value = True, value

    def reject(self, error: BaseException) -> None:
        self.done, self.error = True, error

    def __await__(self) -> Generator[Promise, None, Any]:
        if not self.done:
            yield self
        if self.error is not None:
            raise self.error
        return self.value


@attrs.define(eq=False)
class Task(Promise):
    """A coroutine that runs until it waits for a promise."""

    coroutine: Coroutine[Any, Any, Any] = attrs.field(kw_only=True)
    waits_for: Promise | None = None

    @property
    def ready(self) -> bool:
        return not self.done and (self.waits_for is None or self.waits_for.done)

    def step(self) -> None:
        try:
            awaited = self.coroutine.send(None)
        except StopIteration as end:
            self.resolve(end.value)
        except Stopped:
            raise
        except BaseException as error:  # noqa: BLE001 - guest code raises anything
            self.reject(error)
        else:
            # Nothing can settle a foreign awaitable here: its task waits for ever.
            self.waits_for = awaited if isinstance(awaited, Promise) else Promise()


@attrs.define
class StretchClock:
    """CPU time of one stretch of guest code."""

    spent: float = 0.0
    stopped: bool = False


class ScriptScheduler:
    """The tasks of one cell."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._tasks: list[Task] = []
        self._interrupted = False

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Task:
        """Run a coroutine beside the others, from the next `run` or the running one on."""
        task = Task(coroutine=coroutine)
        self._tasks.append(task)
        return task

    def gather(self, awaitables: Iterable[Awaitable[Any]]) -> Task:
        """Run awaitables side by side; a task that gives the list of their values."""
        return self.spawn(_wait_all([self._promised(one) for one in awaitables]))

    def _promised(self, awaitable: Awaitable[Any]) -> Promise:
        if isinstance(awaitable, Promise):
            return awaitable
        # A guest's coroutine is run as it is, so that it is closed even if it never began.
        return self.spawn(awaitable if inspect.iscoroutine(awaitable) else _wait(awaitable))

    def run(self) -> None:
        """Run tasks until none is ready.

        Raises:
            Stopped: Their time is up.
        """
        while ready := [task for task in self._tasks if task.ready]:
            for task in ready:
                task.step()
        self._tasks = [task for task in self._tasks if not task.done]

    def close(self) -> None:
        """End all tasks; their clean-up code runs, but cannot start new work."""
        while self._tasks:
            tasks, self._tasks = self._tasks, []
            for task in tasks:
                self._wind_down(task.coroutine)

    def _wind_down(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        for _ in range(_WIND_DOWN_AWAITS):
            if inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED:
                return
            # Exceptions of a guest's clean-up code have no reader.
            with self.watch(_WIND_DOWN_SECONDS), contextlib.suppress(BaseException):
                coroutine.close()

    def interrupt(self) -> None:
        """Stop guest code that runs in another thread."""
        self._interrupted = True

    @contextlib.contextmanager
    def watch(self, cpu_seconds: float | None) -> Iterator[StretchClock]:
        """Stop guest code in this block at the end of its time, between two instructions.

        Python takes the trace function away once it has raised, so a guest that catches
        `BaseException` runs on; an engine for code that is not trusted must not rely on this.
        """
        clock = StretchClock()
        begun = time.thread_time()

        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            if frame.f_globals is not self._namespace:
                return None
            frame.f_trace_opcodes = True  # a loop on one line has no line events
            late = cpu_seconds is not None and time.thread_time() - begun > cpu_seconds
            if late or self._interrupted:
                clock.stopped = True
                raise Stopped
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield clock
        finally:
            sys.settrace(before)
            self._interrupted = False
            clock.spent = time.thread_time() - begun


async def _wait(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def _wait_all(promises: Sequence[Promise]) -> list[Any]:
    return [await promise for promise in promises]
