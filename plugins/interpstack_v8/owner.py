"""The one thread that owns all isolates of a process.

jsrun gives each isolate an operating-system thread of its own and lets only the Python thread
that made it use it. So one thread with an event loop makes and drives all of them; workers that
run cells hand it coroutines and wait. It never runs guest code and never blocks.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

from interpstack import EngineFailure
from interpstack_v8.platform import ready_platform

__all__ = ["Owner", "isolate_threads", "owner", "refuse_forked"]

_T = TypeVar("_T")

#: Threads of jsrun deliver the last results and end; one that does so while Python ends aborts the
#: process. They get this time where the system does not tell which threads there are, ...
_LEAVING_SECONDS: Final = 0.05
#: ... and at most this time where it does: one that V8 cannot stop computes for ever.
_MOST_LEAVING_SECONDS: Final = 2.0
_THREADS: Final = Path("/proc/self/task")
#: Name of an isolate's thread, cut as Linux does.
_THREAD_NAME: Final = "jsrun-deno-runtime"[:15]


class Owner:
    """An event loop in a thread, and what must be closed before the process ends."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._open: set[Callable[[], Coroutine[Any, Any, None]]] = set()
        thread = threading.Thread(target=self._loop.run_forever, name="interpstack-v8", daemon=True)
        thread.start()
        try:
            self.call(self._ready())
        except EngineFailure:
            self._loop.call_soon_threadsafe(self._loop.stop)
            raise
        # Threads of V8 that outlive the interpreter would crash the process.
        atexit.register(self._close)

    def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the loop and wait for it."""
        self._check(coroutine)
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on the loop and do not wait."""
        self._check(coroutine)
        asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _check(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        if self.forked:
            coroutine.close()
        refuse_forked(self.pid)

    @property
    def forked(self) -> bool:
        """Whether it is of the process that this one was forked from."""
        return self.pid != os.getpid()

    def adopt(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have something closed at the end of the process."""
        self._open.add(close)

    def release(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._open.discard(close)

    async def _ready(self) -> None:
        ready_platform()

    def _close(self) -> None:
        if self.forked:
            return
        for close in list(self._open):
            self.call(close())
        _wait_for_threads()


def _wait_for_threads() -> None:
    """Let the threads of closed isolates end."""
    if not _THREADS.exists():
        time.sleep(_LEAVING_SECONDS)
        return
    ends = time.monotonic() + _MOST_LEAVING_SECONDS
    while isolate_threads() and time.monotonic() < ends:
        time.sleep(0.002)


def isolate_threads() -> int:
    """How many threads run an isolate; asks Linux."""
    count = 0
    for thread in _THREADS.iterdir():
        # A thread may end between its listing and its reading.
        with contextlib.suppress(OSError):
            count += (thread / "comm").read_text().strip() == _THREAD_NAME
    return count


def refuse_forked(pid: int) -> None:
    """Refuse to go on in the child of a fork.

    Args:
        pid: Of the process in which V8 was started.

    Raises:
        EngineFailure: This is another one.
    """
    if pid != os.getpid():
        raise EngineFailure(
            "V8 was used in this process before it was forked, and its threads did not come "
            "along; fork before V8 is used, start processes with 'spawn', or use "
            "engine='process:v8'"
        )


_owner: Owner | None = None
_lock = threading.Lock()


def owner() -> Owner:
    """The owner of this process; in the child of a fork one that refuses, if V8 was used before."""
    global _owner
    with _lock:
        if _owner is None:
            _owner = Owner()
        return _owner


def _start_anew() -> None:
    """After a fork, in the child: a thread of the parent may have held the lock."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
