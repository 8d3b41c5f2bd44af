"""Threads that must leave Python before Python itself ends.

A thread of jsrun that wants Python's lock while Python ends never gets it. Up to 3.13, Python ends
such a thread where it stands; the unwinding passes through jsrun, which then frees Python objects
without the lock, and the process dies. Two kinds of threads come here:

* The thread of each isolate, which calls host functions.
* Those of jsrun's pool, which hand results to the owner's loop. Such a thread gives the lock away
  inside `call_soon_threadsafe`, while it wakes the loop, and has objects to free when it has the
  lock again; the loop, and the whole process, may be done with the result by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import Final, TypeVarTuple, Unpack

from interpstack_v8.isolates.abandoned import abandoned

__all__ = ["DeliveryLoop", "isolate_threads", "wait_until_left"]

_Given = TypeVarTuple("_Given")

#: Time for the threads of isolates where the system does not tell which threads there are, ...
_LEAVING_SECONDS: Final = 0.05
#: ... the most they get where it does, on a busy machine, ...
_MOST_LEAVING_SECONDS: Final = 10.0
#: ... and the most for those of abandoned isolates: one that V8 cannot stop computes for ever.
_MOST_COMPUTING_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.002
_THREADS: Final = Path("/proc/self/task")
#: Name of an isolate's thread, cut as Linux does.
_THREAD_NAME: Final = "jsrun-deno-runtime"[:15]


class DeliveryLoop(asyncio.SelectorEventLoop):
    """An event loop that counts the threads inside `call_soon_threadsafe`."""

    def __init__(self) -> None:
        self._inside: dict[object, None] = {}
        super().__init__()

    @property
    def deliveries(self) -> int:
        """Threads that have not come back from `call_soon_threadsafe`."""
        return len(self._inside)

    def call_soon_threadsafe(
        self,
        callback: Callable[[Unpack[_Given]], object],
        *args: *_Given,
        context: Context | None = None,
    ) -> asyncio.Handle:
        delivery = object()
        self._inside[delivery] = None
        try:
            return super().call_soon_threadsafe(callback, *args, context=context)
        finally:
            # A statement and no call: Python may give the lock away after a call, but not between
            # this and the return to jsrun, which keeps the lock until it has freed everything.
            del self._inside[delivery]


def wait_until_left(loop: DeliveryLoop) -> None:
    """Wait for the threads of closed isolates to end, and for the last deliveries to be over."""
    if not _THREADS.exists():
        time.sleep(_LEAVING_SECONDS)
    begun = time.monotonic()
    while (threads := isolate_threads()) | (deliveries := loop.deliveries):
        closed = deliveries or threads > abandoned()
        most = _MOST_LEAVING_SECONDS if closed else _MOST_COMPUTING_SECONDS
        if time.monotonic() >= begun + most:
            return
        time.sleep(_PAUSE_SECONDS)


def isolate_threads() -> int:
    """The number of threads that run isolates; 0 on systems that do not report it."""
    count = 0
    # A thread may end between its listing and its reading.
    with contextlib.suppress(OSError):
        for thread in _THREADS.iterdir():
            with contextlib.suppress(OSError):
                count += (thread / "comm").read_text().strip() == _THREAD_NAME
    return count
