"""Threads for the calls of a store, which may wait for a disk or a server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from interpstack import run_guest, start_anew_after_fork

__all__ = ["StoreThreads"]

_T = TypeVar("_T")


class StoreThreads:
    """Threads in which the calls of one store run, and nothing else does.

    So a lease is renewed in time, however many tools block the threads of the process. The threads
    are started when they are first needed, and again in the child of a fork.

    Args:
        size: The largest number of threads, see `BlobStore.threads`; 0 calls the store in place.
        name: Begins the names of the threads.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._left: list[ThreadPoolExecutor | None] = []
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Leave the threads to the parent; called in the child of a fork."""
        self._lock = threading.Lock()
        self._left.append(self._pool)  # dropping it would wait for threads that are not here
        self._pool = None

    async def run(self, function: Callable[[], _T]) -> _T:
        """Call a function that uses the store.

        If the caller is cancelled, the call is waited for: afterwards, its effect is complete.
        """
        if not self._size:
            return function()
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._size, self._name)
            pool = self._pool
        return await run_guest(function, lambda: None, pool)

    def close(self) -> None:
        """End the threads after the calls that are under way; a later call starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()
