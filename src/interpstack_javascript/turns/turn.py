"""Turns of guests, and the wakes of event loops at their ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

__all__ = ["ThreadCall", "Wakes"]

_T = TypeVar("_T")


def _nobody() -> None:
    """Stands for a caller that does not want to be woken."""


class ThreadCall(Generic[_T]):
    """A call of a function in another thread, with the part of a `Future` that loops need.

    A `Future` takes as long as a short turn of a guest does.

    Args:
        guest: Identifies the guest.
        before: Short turns that the guest had in a row before this one.
        function: The function to call.

    Attributes:
        begun: When the turn was made, on the clock of `time.perf_counter`.
    """

    def __init__(self, guest: int, before: int, function: Callable[[], _T]) -> None:
        self.guest = guest
        self.before = before
        self.begun = time.perf_counter()
        self._function: Callable[[], _T] | None = function
        self._value: Any = None
        self._error: BaseException | None = None
        self._wake: Callable[[], Any] = _nobody
        self._taken, self._going = threading.Lock(), threading.Lock()
        self._going.acquire()

    def run(self) -> None:
        """Call the function, unless the turn was cancelled; `end` follows."""
        function, self._function = self._function, None
        if function is not None and self._taken.acquire(blocking=False):
            try:
                self._value = function()
            except BaseException as error:  # noqa: BLE001 - `result` raises it
                self._error = error

    def end(self) -> None:
        """Let the caller go on."""
        self._going.release()
        self._wake()

    def cancel(self) -> bool:
        """Prevent the call; False if it has begun."""
        return self._taken.acquire(blocking=False)

    def wake(self, caller: Callable[[], Any]) -> None:
        """Call `caller` at the end, from any thread and perhaps twice."""
        self._wake = caller
        if self.done():
            caller()

    def done(self, seconds: float = 0.0) -> bool:
        """Wait for the end, below 0 without a limit; False if the time is up first."""
        ended = self._going.acquire(timeout=seconds)
        if ended:
            self._going.release()
        return ended

    def result(self) -> _T:
        """Return the function's value, or raise its exception; called once, after the end."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
            value: _T = self._value
            return value
        finally:
            del error  # its traceback refers to this frame


class Wakes:
    """Sets events from any thread.

    To wake a loop is a system call, during which all other threads compete for the interpreter
    lock. So a loop that was woken, and has had no time since, is not woken again.

    Args:
        loop: The loop of the events.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ended: deque[asyncio.Event] = deque()
        self._woken = False

    def wake(self, ended: asyncio.Event) -> None:
        """Have the loop set an event soon; called from any thread."""
        self._ended.append(ended)
        if not self._woken:  # else `_set_all` is still to come, and finds the event
            self._woken = True
            with suppress(RuntimeError):  # the loop was closed
                self.loop.call_soon_threadsafe(self._set_all)

    def _set_all(self) -> None:
        self._woken = False  # before the events: a thread that adds one later wakes the loop again
        try:
            while self._ended:
                self._ended.popleft().set()
        finally:
            if self._ended:  # the handler of a signal has raised
                self.loop.call_soon(self._set_all)
