"""The time limit of one cell, which its input may set."""

from __future__ import annotations

import time

import attrs

from interpstack import CellGuard, GuestError, Seconds

__all__ = ["TimeLimit"]


@attrs.define(eq=False, repr=False)
class TimeLimit(CellGuard):
    """A limit on the time of one run of a cell, waiting included.

    Attributes:
        seconds: The limit.
        tool: Name of the tool, for the message.
    """

    seconds: float
    tool: str
    _begun: float = attrs.field(factory=time.monotonic, init=False)

    def allowance(self, kind: Seconds) -> float | None:
        return self._left() if kind == "wall_seconds" else None

    def exceeded(self, cpu: float | None, wall: float | None) -> GuestError | None:
        if min((own for own in (cpu, wall) if own is not None), default=1.0) <= self._left():
            return None
        message = f"{self.tool} execution timed out after {self.seconds:g} s"
        return GuestError("Timeout", message)

    def _left(self) -> float:
        return self.seconds - (time.monotonic() - self._begun)
