"""Threads in which calls of one cell run: nothing can stop them, so they may outlast the cell."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import attrs

__all__ = ["CallThreads"]

_log = logging.getLogger(__name__)


@attrs.define(eq=False, repr=False)
class CallThreads:
    """The threads of one cell's calls."""

    _running: Counter[int] = attrs.field(factory=Counter, init=False)
    _left: Collection[int] = attrs.field(default=(), init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    @contextmanager
    def running(self, request_id: int, name: str) -> Iterator[None]:
        """Run a call in this thread; its end is logged if the cell has ended before.

        Args:
            request_id: The request that the call answers.
            name: Names the call in the log.
        """
        with self._lock:
            self._running[request_id] += 1
        ended = "failed"
        try:
            yield
            ended = "returned"
        finally:
            with self._lock:
                self._running[request_id] -= 1
                late = request_id in self._left
            if late:
                _log.warning("%s has %s after the end of its cell; the answer is lost", name, ended)

    def leave(self) -> Collection[int]:
        """Leave the threads that still run, because the cell has ended.

        Returns:
            The requests that their calls answer.
        """
        with self._lock:
            self._left = {number for number, count in self._running.items() if count}
            return self._left
