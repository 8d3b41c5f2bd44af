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
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from interpstack import EngineFailure
from interpstack_v8.isolates.endings import DeliveryLoop, wait_until_left
from interpstack_v8.isolates.platform import ready_platform

__all__ = ["Owner", "owner", "refuse_forked"]

_T = TypeVar("_T")

#: Seconds for the isolates to close. A command that ends later keeps no process from its end.
_CLOSING_SECONDS: Final = 30.0
#: Seconds for the loop to end, on a busy machine.
_STOPPING_SECONDS: Final = 5.0


class Owner:
    """An event loop in a thread, and the isolates to close before the process ends."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = DeliveryLoop()
        self._open: set[Callable[[], Coroutine[Any, Any, None]]] = set()
        self._ended = False
        self._thread = threading.Thread(target=self._drive, name="interpstack-v8", daemon=True)
        self._thread.start()
        try:
            self.call(self._ready())
        except EngineFailure:
            self._stop()
            raise
        # Threads of V8 that outlive the interpreter would crash the process.
        atexit.register(self._close)

    def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the loop and wait for it."""
        self._check(coroutine)
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on the loop and do not wait; it tells of its errors in its own way."""
        self._check(coroutine)
        self._loop.call_soon_threadsafe(self._loop.create_task, coroutine)

    def _check(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        if self.gone:
            coroutine.close()
        refuse_forked(self.pid)
        if self._ended:
            raise EngineFailure("V8 cannot be used any more, because the process is ending")

    @property
    def gone(self) -> bool:
        """Whether the isolates of this process, or of its parent before a fork, are closed."""
        return self._ended or self.pid != os.getpid()

    def adopt(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Close a resource at the end of the process."""
        self._open.add(close)

    def release(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._open.discard(close)

    async def _ready(self) -> None:
        ready_platform()

    def _close(self) -> None:
        """Close all isolates, and leave no thread that could still want Python's lock."""
        if self.gone:
            return
        self._ended = True
        closing = asyncio.run_coroutine_threadsafe(self._close_all(), self._loop)
        with contextlib.suppress(TimeoutError):
            closing.result(_CLOSING_SECONDS)
        wait_until_left(self._loop)
        self._stop()

    async def _close_all(self) -> None:
        for close in list(self._open):
            await close()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOPPING_SECONDS)

    def _drive(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(_cancel_others())


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def refuse_forked(pid: int) -> None:
    """Raise `EngineFailure` in the child of a fork.

    Args:
        pid: The id of the process in which V8 was started.

    Raises:
        EngineFailure: This is another one.
    """
    if pid != os.getpid():
        raise EngineFailure(
            "V8 was used in this process before it was forked, and a fork copies no threads; "
            "fork before V8 is used, start processes with 'spawn', or use "
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
    """Replace the lock in the child of a fork, because a thread of the parent may have held it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
