"""One turn of a guest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Turn"]

_T = TypeVar("_T")


def _nobody() -> None:
    """Stands for a caller that does not want to be woken."""


class Turn(Generic[_T]):
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
