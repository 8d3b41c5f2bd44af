"""The time limits on waiting for a worker process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from interpstack_process.frames import Closed

__all__ = ["CommandDeadline", "CommandTimeout"]

#: Seconds that an interrupted worker may take to stop; the caller is waiting to go on.
_STOP_SECONDS: Final = 0.5


class Awaited(Protocol):
    """A worker that the host waits for.

    Attributes:
        ended: Whether the process has ended.
    """

    ended: bool

    def interrupt(self, number: int) -> None:
        """Have the guest code of a command stopped."""


class CommandTimeout(Closed):
    """The time of a command is up, and its worker is to be killed."""


class CommandDeadline:
    """A check that runs while the host waits for a worker, and raises to end the wait.

    It raises `CommandTimeout` when the time is up, and `Closed` when the worker has ended.
    """

    def __init__(
        self,
        worker: Awaited,
        number: int,
        seconds: float | None,
        grace_seconds: float,
        interrupted: Callable[[], bool],
    ) -> None:
        self._worker = worker
        self._number = number
        self._grace = grace_seconds
        self.seconds = None if seconds is None else seconds + grace_seconds
        self._interrupted = interrupted
        self._interrupted_at: float | None = None
        self.start()

    def start(self) -> None:
        """Let the time begin now: the command is carried out."""
        self._started = time.monotonic()

    def __call__(self) -> None:
        now = time.monotonic()
        if self._interrupted():
            self._interrupted_at = self._interrupted_at or now
            self._worker.interrupt(self._number)
            seconds = min(_STOP_SECONDS, self._grace)
            if now > self._interrupted_at + seconds:
                raise CommandTimeout(f"did not stop within {seconds:g} s")
        if self.seconds is not None and now > self._started + self.seconds:
            raise CommandTimeout(f"did not answer within {self.seconds:g} s")
        if self._worker.ended:
            raise Closed("the worker process has ended")
