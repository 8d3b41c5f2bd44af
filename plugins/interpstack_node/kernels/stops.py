"""Signals that stop the guest of a kernel.

A kernel that is signalled to stop a command may see the signal only after the command has ended by
itself. So signals are counted on both sides: a kernel gets no command before it has seen every
signal that was sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

__all__ = ["Stop", "Stops"]


class Stops:
    """The signals to one kernel.

    Args:
        signal: Sends one.
    """

    def __init__(self, signal: Callable[[], None]) -> None:
        #: Signals that were sent since the kernel's start.
        self.sent = 0
        # A finalizer may end a conversation in the middle of anything, also of this.
        self._lock = threading.RLock()
        self._signal = signal
        self._current: Stop | None = None

    def open(self, stop: Stop) -> None:
        """Let this stop send a signal, and no other one."""
        with self._lock:
            self._current = stop

    def close(self) -> None:
        """Refuse further signals; returns when no signal is being sent."""
        with self._lock:
            self._current = None

    def send(self, stop: Stop) -> bool:
        """Send a signal if this stop may; whether it was sent."""
        with self._lock:
            if self._current is not stop:
                return False
            self.sent += 1
            self._signal()
            return True


class Stop:
    """The stop of one command, from any thread; a context in which the command runs.

    Args:
        stops: Those of the kernel.
    """

    def __init__(self, stops: Stops) -> None:
        self._stops = stops
        self._is_sent = False

    def __enter__(self) -> None:
        self._stops.open(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stops.close()

    def send(self) -> None:
        """Have the guest stopped, once, if the command runs."""
        if not self._is_sent:
            self._is_sent = self._stops.send(self)

    def renew(self) -> None:
        """Let a second part of the command be stopped for itself."""
        self._is_sent = False
