"""Async code for synchronous callers, on one event loop that they share in a thread."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final, Self, TypeAlias, TypeVar, cast

from interpstack.threads import start_anew_after_fork

__all__ = ["SyncToo", "apart", "blocked_loops", "run_sync"]

_T = TypeVar("_T")
#: A value, or the exception in its place.
_Carried: TypeAlias = tuple[_T | None, BaseException | None]
#: Name of the thread in which the shared loop runs.
_THREAD: Final = "interpstack-sync"

#: Event loops that the current code keeps from running: a synchronous caller waits on them.
blocked_loops: ContextVar[frozenset[asyncio.AbstractEventLoop]] = ContextVar(
    "interpstack_blocked", default=frozenset()
)


class _SharedLoop:
    """The shared event loop of one process; made on first use, again after a fork."""

    def __init__(self) -> None:
        #: The last one is used. The others are of processes that this one was forked from, with
        #: whom it shares resources that dropping a loop would affect.
        self._loops: list[asyncio.AbstractEventLoop] = []
        self.start_anew()
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        self._lock, self._anew = threading.Lock(), True

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._anew:
                loop, self._anew = asyncio.new_event_loop(), False
                self._loops.append(loop)
                threading.Thread(target=loop.run_forever, name=_THREAD, daemon=True).start()
            return self._loops[-1]


_shared = _SharedLoop()


async def apart(coroutine: Coroutine[Any, Any, _T], inner: object = None) -> _T:
    """Await something, and what it awaits, in a task of its own: it cannot cancel the caller's."""
    value, error = await _carried(coroutine, inner)
    if error is not None:
        raise error
    return cast("_T", value)


def run_sync(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine for a synchronous caller, with its context variables.

    Works whether or not the calling thread has a running event loop; interrupting the caller
    (Ctrl-C) cancels the coroutine and waits for its end.

    Raises:
        RuntimeError: Called on the shared loop itself, where waiting would never end.
    """
    loop = _shared.get()
    if threading.current_thread().name == _THREAD:
        coroutine.close()
        raise RuntimeError(
            "a synchronous call inside an async bridge or hook would wait for itself; await the "
            "asynchronous form, as in `await session.eval(…)`"
        )
    context = contextvars.copy_context()
    with suppress(RuntimeError):  # no loop runs in this thread
        own = asyncio.get_running_loop()
        context.run(lambda: blocked_loops.set(blocked_loops.get() | {own}))
    result: Future[_T] = Future()

    def start() -> None:
        tasks.append(context.run(_carried, coroutine))
        tasks[0].add_done_callback(lambda done: _copy(done, result))

    def stop() -> None:
        if not tasks:  # the interrupt came before `start`
            coroutine.close()
            result.set_exception(asyncio.CancelledError())
        for task in tasks:
            task.cancel()

    tasks: list[asyncio.Task[_Carried[_T]]] = []
    try:
        loop.call_soon_threadsafe(start)
        return result.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(stop)
        result.exception()
        raise


def _carried(coroutine: Coroutine[Any, Any, _T], *inner: object) -> asyncio.Task[_Carried[_T]]:
    """A task of the running loop that carries the coroutine's end."""
    task = asyncio.ensure_future(_carry(coroutine))
    begun = [one for one in (coroutine, *inner) if isinstance(one, Coroutine)]
    task.add_done_callback(lambda done: [one.close() for one in begun])  # if the task never began
    return task


async def _carry(coroutine: Coroutine[Any, Any, _T]) -> _Carried[_T]:
    """The coroutine's end as a value.

    Out of a task, `SystemExit` would stop the shared loop, and `GeneratorExit` close the caller.
    """
    try:
        return await coroutine, None
    except (GeneratorExit, KeyboardInterrupt, SystemExit) as error:
        return None, error


def _copy(task: asyncio.Task[_Carried[_T]], result: Future[_T]) -> None:
    if task.cancelled():
        result.set_exception(asyncio.CancelledError())
        return
    value, error = (None, task.exception()) if task.exception() else task.result()
    if error is not None:
        result.set_exception(error)
    else:
        result.set_result(cast("_T", value))


class SyncToo:
    """Base of async context managers that synchronous callers may use as well."""

    async def aclose(self) -> None:
        """Close it."""
        raise NotImplementedError

    def close(self) -> None:
        """`aclose` for synchronous callers.

        Raises:
            ConfigurationError: What is closed runs on the event loop of this very thread.
        """
        run_sync(self.aclose())

    def _enter(self) -> None:
        """Begin a block."""

    async def __aenter__(self) -> Self:
        self._enter()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        self._enter()
        return self

    def __exit__(self, *error: object) -> None:
        run_sync(self.__aexit__(*error))
