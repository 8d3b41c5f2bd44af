"""The time limit of one command to a kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from interpstack_javascript.exported import EXPORT_SECONDS
from interpstack_node.kernels.stops import Stop

__all__ = ["CommandClock", "TimedKernel"]

#: Seconds between two looks at how long the guest has computed.
_LOOK_SECONDS: Final = 0.25
#: Seconds that an interrupted guest has to stop, while a caller waits to go on.
_LEAVE_SECONDS: Final = 0.5


class TimedKernel(Protocol):
    """A kernel, as far as its time is concerned."""

    @property
    def cpu_seconds(self) -> float:
        """Seconds that it has computed."""

    @property
    def grace_seconds(self) -> float:
        """Seconds that its guest has to stop once its time is up."""

    def ended(self, reason: str, *, slow: bool = False) -> Exception:
        """End the process, and return the exception that says how it did."""


class CommandClock:
    """The time limit of one command, which starts with the command.

    Args:
        kernel: The kernel that carries it out.
        stop: Stops the guest.
        seconds: Computing time it may take; `None` for no limit.
        is_interrupted: Becomes true when the guest is to be stopped anyway.
    """

    def __init__(
        self,
        kernel: TimedKernel,
        stop: Stop,
        seconds: float | None,
        is_interrupted: Callable[[], bool],
    ) -> None:
        self._kernel = kernel
        self._stop = stop
        self._limit = seconds
        self._is_interrupted = is_interrupted
        self.begun = kernel.cpu_seconds
        self._cell_seconds: float | None = None
        self._late_since: float | None = None
        self._asked_at: float | None = None

    @property
    def cell_seconds(self) -> float:
        """Seconds that the command has computed, without the export of values."""
        if self._cell_seconds is not None:
            return self._cell_seconds
        return max(0.0, self._kernel.cpu_seconds - self.begun)

    def look(self) -> float:
        """Stop a guest whose time is up; returns the seconds until the next look.

        Raises:
            KernelDied: It did not stop, and its process was ended.
        """
        left = _LOOK_SECONDS
        if self._limit is not None:
            left = self._limit - (self._kernel.cpu_seconds - self.begun)
        now = time.monotonic()
        if self._is_interrupted():
            self._asked_at = self._asked_at or now
            left = 0.0
        if left > 0:
            return min(max(left, 0.002), _LOOK_SECONDS)
        self._stop_guest(now)
        return _LOOK_SECONDS

    def _stop_guest(self, now: float) -> None:
        self._late_since = self._late_since or now
        since, grace = self._late_since, self._kernel.grace_seconds
        if self._asked_at is not None:  # whoever asked waits to go on
            since, grace = self._asked_at, min(grace, _LEAVE_SECONDS)
        if now - since > grace:
            raise self._kernel.ended(f"did not stop within {grace:g} s", slow=True)
        self._stop.send()

    def export(self) -> None:
        """Begin with the export of values, which has a limit of its own; once in a command."""
        if self._cell_seconds is None:
            self._cell_seconds = self.cell_seconds
            self._limit = self._cell_seconds + EXPORT_SECONDS
            self._late_since = None
            self._stop.renew()
