"""Host functions that the thread of an isolate calls, and their results for other threads."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

import attrs

__all__ = ["GuestAnswer", "HostFunctions"]


@attrs.frozen
class GuestAnswer:
    """The answer of a command, after the guest's jobs have run.

    Attributes:
        text: The text of the kernel.
        heap: Bytes in use in the heap.
        buffers: Bytes in use outside of it, by array buffers.
    """

    text: str
    heap: int = attrs.field(converter=int)
    buffers: int = attrs.field(converter=int)


class HostFunctions:
    """The host's side of one isolate. Its thread calls `by_name`; others call the other methods."""

    def __init__(self) -> None:
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._clock: int | None = None
        self._answer: Future[GuestAnswer] = Future()  # of the running command
        self._hear: Callable[[str], None] | None = None
        #: Console output of the running cell, line by line.
        self.recorded: list[str] = []

    def by_name(self) -> dict[str, Callable[..., Any]]:
        """The functions, by the names under which `host.js` calls them."""
        return {
            "meet": self._meet,
            "park": self._park,
            "record": self._record,
            "deliver": self._deliver,
        }

    @property
    def cpu_seconds(self) -> float:
        """Time the thread has computed; where the system does not tell, time that has passed."""
        return time.monotonic() if self._clock is None else time.clock_gettime(self._clock)

    def wake(self) -> None:
        """Let the thread go on that is parked, or is about to be."""
        self._bell.put(None)

    def answer_to(self, answer: Future[GuestAnswer]) -> None:
        """Choose where the next answer goes."""
        self._answer = answer

    def begin_output(self, hear: Callable[[str], None] | None) -> None:
        """Drop the output of earlier cells.

        Args:
            hear: Called in the isolate's thread with each line, once it is recorded.
        """
        self.recorded.clear()
        self._hear = hear

    def _meet(self) -> None:
        """Find the clock of the isolate's thread, which calls this before its first command.

        A command that began on another clock would be charged the difference of the two.
        """
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(threading.get_ident())

    def _park(self) -> None:
        """Hold a thread that has nothing to do."""
        self._bell.get()

    def _record(self, line: str) -> None:
        """Take a line of console output."""
        self.recorded.append(line)
        if self._hear is not None:
            self._hear(line)

    def _deliver(self, text: str, heap: float, buffers: float) -> None:
        """Take the answer of a command that took long."""
        with contextlib.suppress(InvalidStateError):  # no caller waits for an abandoned isolate
            self._answer.set_result(GuestAnswer(text, heap, buffers))
