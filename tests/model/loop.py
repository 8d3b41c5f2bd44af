"""A deterministic event loop with virtual time, on which hosts run side by side and may die.

A host stands for a process. Its callbacks are known by a context variable, which tasks, futures
and timers pass on by themselves. All callbacks run in one thread, and time moves only when none is
ready. Callbacks of one host run in the order in which they were registered, as asyncio promises
it; which host is next, and how long threads and stores take, depends on the seed.

A host dies between two callbacks, that is, at an `await`: none of its callbacks runs afterwards.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import heapq
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import attrs

__all__ = ["HOST", "Host", "SimLoop", "SimThreads", "Stuck"]

#: Seconds since 1970 at which every simulation begins.
EPOCH = 1_700_000_000.0
#: Ready callbacks among which the next host is chosen.
_LOOK_AHEAD = 8


class Stuck(Exception):
    """Nothing is ready, and no timer is set: whoever waits will wait for ever."""


@attrs.define(eq=False)
class Host:
    """A simulated process.

    Attributes:
        name: The machine, which outlives the process.
        life: Counts the processes of the machine.
        offset: Seconds by which the wall clock of the machine is wrong.
        alive: Whether callbacks of the process still run.
        steps: The number of callbacks that ran.
        dies_at: The number of callbacks after which the process dies; `None` for never.
        stalls: By numbers of callbacks, the seconds for which the whole process then stops.
        resumes: The time at which a stalled process continues.
        held: The callbacks that wait for that time.
    """

    name: str
    life: int = 0
    offset: float = 0.0
    alive: bool = True
    steps: int = 0
    dies_at: int | None = None
    stalls: dict[int, float] = attrs.field(factory=dict)
    resumes: float = 0.0
    held: list[Any] = attrs.field(factory=list)

    def __str__(self) -> str:
        return f"{self.name}{self.life}"


HOST: contextvars.ContextVar[Host | None] = contextvars.ContextVar("host", default=None)


class _Task(asyncio.Task):  # type: ignore[type-arg]
    """A task whose hash, and so its place in a set, is the same in every run of a seed."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class _Future(asyncio.Future):  # type: ignore[type-arg]
    number = 0

    def __hash__(self) -> int:
        return self.number


class SimLoop(asyncio.BaseEventLoop):
    """The loop.

    Args:
        chance: Decides what the seed decides.
        died: Called with a host that has died.
    """

    def __init__(
        self, chance: random.Random, died: Callable[[Host], None] = lambda host: None
    ) -> None:
        super().__init__()
        self.chance = chance
        self.now = 0.0
        self.steps = 0
        self.is_over = False
        self._died = died
        self._numbers = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self._threads = SimThreads()
        self.set_task_factory(self._task)
        self.errors: list[dict[str, Any]] = []
        self.set_exception_handler(lambda loop, context: self.errors.append(context))

    # -- what asyncio calls ----------------------------------------------------------------

    def time(self) -> float:
        return self.now

    def create_future(self) -> asyncio.Future[Any]:
        future = _Future(loop=self)
        self._numbers += 1
        future.number = self._numbers
        return future

    def _task(self, loop: Any, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        task = _Task(coroutine, loop=self, **options)
        self._numbers += 1
        task.number = self._numbers
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        self._tasks.append(task)
        return task

    def run_in_executor(self, executor: Any, function: Any, *args: Any) -> Any:
        running = self._threads.submit(function, *args)
        return asyncio.wrap_future(running, loop=self)

    def _process_events(self, events: Any) -> None: ...

    def _write_to_self(self) -> None: ...

    def _run_once(self) -> None:
        ready: deque[Any] = self._ready  # type: ignore[attr-defined]
        scheduled: list[Any] = self._scheduled  # type: ignore[attr-defined]
        if not ready:
            while scheduled and (scheduled[0].cancelled() or self._is_dead(scheduled[0])):
                heapq.heappop(scheduled)._scheduled = False
            if not scheduled:
                raise Stuck("nothing is ready, and no timer is set")
            self.now = max(self.now, scheduled[0].when())
        while scheduled and scheduled[0].when() <= self.now:
            timer = heapq.heappop(scheduled)
            timer._scheduled = False
            ready.append(timer)
        self._run(self._next(ready))

    def _next(self, ready: deque[Any]) -> Any:
        if len(ready) > 1:
            chosen = self.chance.randrange(min(len(ready), _LOOK_AHEAD))
            host = ready[chosen]._context.get(HOST)
            for index in range(chosen):
                if ready[index]._context.get(HOST) is host:
                    handle = ready[index]
                    del ready[index]
                    return handle
            handle = ready[chosen]
            del ready[chosen]
            return handle
        return ready.popleft()

    @staticmethod
    def _is_dead(handle: Any) -> bool:
        host = handle._context.get(HOST)
        return host is not None and not host.alive

    def _run(self, handle: Any) -> None:
        if handle.cancelled():
            return
        host: Host | None = handle._context.get(HOST)
        if host is None:
            handle._run()
            return
        if not host.alive:
            return
        if host.resumes > self.now:  # the process has stopped, as a suspended machine does
            if not host.held:
                self.call_at(host.resumes, self._continue, host, context=contextvars.Context())
            host.held.append(handle)
            return
        self.steps += 1
        host.steps += 1
        handle._run()
        if host.steps == host.dies_at:
            self.kill(host)
        elif host.steps in host.stalls:
            host.resumes = self.now + host.stalls.pop(host.steps)

    def _continue(self, host: Host) -> None:
        held, host.held = host.held, []
        self._ready.extendleft(reversed(held))  # type: ignore[attr-defined]

    # -- hosts -----------------------------------------------------------------------------

    def kill(self, host: Host) -> None:
        """End a process now: nothing of it runs any more."""
        if host.alive:
            host.alive = False
            self._died(host)

    def dispose(self) -> None:
        """Close the coroutines that never ended; nothing that they do matters any more."""
        self.is_over = True
        pending = [task for task in self._tasks if not task.done()]
        for task in pending:
            coroutine: Any = task.get_coro()
            try:
                coroutine.close()
            except BaseException:  # noqa: BLE001 - clean-up code of a dead process
                continue
        self._tasks.clear()
        self._ready.clear()  # type: ignore[attr-defined]
        self._scheduled.clear()  # type: ignore[attr-defined]
        self.close()


class SimThreads(concurrent.futures.Executor):
    """Threads, as callbacks of the loop: a function runs some time later, in one piece.

    Args:
        most: Seconds that a function waits for its thread, and its result for the loop, at most.
    """

    def __init__(self, most: float = 0.0) -> None:
        self._most = most

    def submit(self, function: Any, /, *args: Any, **named: Any) -> Any:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop)
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def begin() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result, error = function(*args, **named), None
            except BaseException as raised:  # noqa: BLE001 - carried to the caller
                result, error = None, raised
            self._after(loop, end, result, error)

        def end(result: Any, error: BaseException | None) -> None:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._after(loop, begin)
        return future

    def _after(self, loop: SimLoop, callback: Any, *args: Any) -> None:
        if self._most and loop.chance.random() < 0.7:
            loop.call_later(loop.chance.random() * self._most, callback, *args)
        else:
            loop.call_soon(callback, *args)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is to be shut down."""
