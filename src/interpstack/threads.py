"""Threads, all of them bounded and shared: none belongs to a session.

Guest code and blocking bridge handlers run in two pools of their own, so that handlers that
wait cannot keep guests from running.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

__all__ = ["call_blocking", "run_guest", "start_anew_after_fork", "to_end"]

_T = TypeVar("_T")

#: Exceptions that mean something else to the future that carries them, or to its awaiter.
_NOT_CARRIED = (StopIteration, GeneratorExit, CancelledError, asyncio.CancelledError)
#: Stack of a thread that runs guest code.
GUEST_STACK_BYTES = 16 * 2**20
#: Blocking handlers that may run at once in this process.
HANDLER_THREADS = 64
_HANDLERS = partial(ThreadPoolExecutor, HANDLER_THREADS, "interpstack-handler")


def _guests() -> ThreadPoolExecutor:
    """Threads with a stack that is the same on all systems; some give new threads very little."""
    count = os.cpu_count() or 2
    previous = threading.stack_size(GUEST_STACK_BYTES)
    try:
        pool = ThreadPoolExecutor(count, "interpstack-guest")
        ready = threading.Barrier(count + 1)
        for _ in range(count):
            pool.submit(ready.wait)
        ready.wait()  # a pool starts its threads one by one, as work comes in
    finally:
        threading.stack_size(previous)
    return pool


#: The pools of this process, made on first use, and again after a fork.
_pools: dict[str, ThreadPoolExecutor] = {}
_pools_lock = threading.Lock()
#: Objects of a forked process's parent: dropping them would affect shared resources.
_left: list[Any] = []


def _pool(name: str, make: Callable[[], ThreadPoolExecutor]) -> ThreadPoolExecutor:
    with _pools_lock:
        if name not in _pools:
            _pools[name] = make()
        return _pools[name]


_starting_anew: weakref.WeakSet[Any] = weakref.WeakSet()


def start_anew_after_fork(one: Any) -> None:
    """Have `one.start_anew()` called in each child of a fork, for as long as `one` lives.

    The method forgets locks and waiters: their threads and loops are the parent's.
    """
    _starting_anew.add(one)


def _start_anew() -> None:
    """After a fork, in the child: no thread came along, and any may have held the lock."""
    global _pools, _pools_lock
    _left.append(_pools)
    _pools, _pools_lock = {}, threading.Lock()
    for one in list(_starting_anew):
        one.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


async def run_guest(
    function: Callable[[], _T], interrupt: Callable[[], None], threads: Executor | None = None
) -> _T:
    """Run guest code off the loop, in `threads` or in the guest threads of this process.

    When the caller is cancelled, this function calls `interrupt` and waits for the guest: no other
    code may use its realm before it has stopped.
    """
    running = (threads or _pool("guests", _guests)).submit(function)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    running.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(ended.set))
    try:
        await ended.wait()  # `wrap_future` takes as long as the way to the thread and back
        return running.result()
    except asyncio.CancelledError:
        if running.cancel():  # its turn had not come
            raise
        interrupt()
        while not running.done():
            with suppress(asyncio.CancelledError):  # the first one is raised below
                await ended.wait()
        raise


async def to_end(coroutine: Coroutine[Any, Any, _T], seconds: float | None = None) -> _T:
    """Await something that must not stop half-way, though its caller is cancelled meanwhile.

    Args:
        coroutine: The coroutine to run.
        seconds: How long it may still take once the caller is cancelled; `None` for no limit.

    Raises:
        CancelledError: The caller was cancelled; the coroutine has ended, or was cancelled, too.
    """
    ended, cancelled, left = asyncio.Event(), None, None
    task = asyncio.ensure_future(_telling(coroutine, ended))
    task.add_done_callback(lambda _: coroutine.close())  # if the task never began
    task.add_done_callback(lambda _: ended.set())
    while not task.done():
        try:  # at first the event: `asyncio.wait` goes on a turn of the loop later
            await (ended.wait() if cancelled is None else asyncio.wait({task}, timeout=left))
        except asyncio.CancelledError as error:
            cancelled, left = cancelled or error, seconds
        else:
            if not task.done():  # out of time
                task.cancel()
                left = None
    if cancelled is None:
        return task.result()
    raise cancelled from (None if task.cancelled() else task.exception())


async def _telling(coroutine: Coroutine[Any, Any, _T], ended: asyncio.Event) -> _T:
    loop = asyncio.get_running_loop()
    try:
        return await coroutine
    finally:
        if not loop.is_closed():  # else both tasks are thrown away, and nobody waits
            ended.set()


async def call_blocking(
    function: Callable[[], _T], *, outlasts: Callable[[], float] = lambda: 0.0
) -> _T:
    """Run a blocking handler in a thread, with the caller's context variables.

    Args:
        function: The handler.
        outlasts: Seconds to wait, once the caller is cancelled, for a running handler: nothing can
            stop its thread. If it ends in this time, its end counts, not the cancellation.
    """
    context = contextvars.copy_context()

    def call() -> _T:
        try:
            return context.run(function)
        except _NOT_CARRIED as error:
            raise RuntimeError(f"the handler raised {type(error).__name__}") from error

    running = _pool("handlers", _HANDLERS).submit(call)
    try:
        return await asyncio.wrap_future(running)
    except asyncio.CancelledError:
        seconds = 0.0 if running.cancelled() else outlasts()
        ending = asyncio.wrap_future(running)  # may be an exception that nobody retrieves
        ending.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        if seconds:
            await asyncio.wait({ending}, timeout=seconds)
        task = asyncio.current_task()
        if not seconds or not running.done() or task is None:
            raise
        task.uncancel()
        return running.result()
