"""The remaining time of a cell."""

from __future__ import annotations

import time

import attrs

from interpstack.cells.guards import Guards
from interpstack.contracts.extensions import Seconds
from interpstack.contracts.limits import Limits

__all__ = ["CellClock"]


@attrs.define(eq=False, repr=False)
class CellClock:
    """A clock that counts a cell's time against its own limits and those of its guards.

    Attributes:
        limits: The cell's own.
        guards: May allow less than the limits.
        cpu_seconds: Computed by the guest so far.
    """

    limits: Limits
    guards: Guards = attrs.field(factory=Guards)
    cpu_seconds: float = 0.0
    _started: float = attrs.field(factory=time.monotonic, init=False)

    @property
    def wall_seconds(self) -> float:
        """Since the clock was made."""
        return time.monotonic() - self._started

    def go_on(self, *, cpu_seconds: float = 0.0, wall_seconds: float = 0.0) -> None:
        """Count the seconds that earlier runs of the cell used."""
        self.cpu_seconds += cpu_seconds
        self._started -= wall_seconds

    def computed(self, seconds: float) -> None:
        """Note that the guest has computed; a negative count would refund time."""
        seconds = max(0.0, seconds)
        self.cpu_seconds += seconds
        for guard in self.guards:
            guard.computed(seconds)

    def left(self, until: float | None = None) -> float | None:
        """Seconds the guest may compute now, of those `until` the cell must end, if it must."""
        cpu = self._left("cpu_seconds", self.cpu_seconds)
        least = cpu if until is None or (cpu is not None and cpu < until) else until
        return None if least is None else max(0.0, least)

    def wall_left(self, *, shared: bool = True) -> float | None:
        """Seconds until the cell must end, which may be negative.

        Args:
            shared: Count against the limits of the guards, too.
        """
        return self._left("wall_seconds", self.wall_seconds, shared)

    def out_of_time(self) -> tuple[str, str]:
        """Name and message of the error, once the time is used up."""
        wall = self.wall_left(shared=False)
        cpu = self._left("cpu_seconds", self.cpu_seconds, shared=False)
        exceeded = self.guards.exceeded(cpu, wall)
        if exceeded is not None:
            return exceeded.name, exceeded.message
        if wall is not None and (cpu is None or wall < cpu):
            return "Timeout", f"the cell took longer than {self.limits.wall_seconds:g} s in total"
        return "Timeout", f"the code computed for more than {self.limits.cpu_seconds:g} s"

    def _left(self, kind: Seconds, used: float, shared: bool = True) -> float | None:
        limit: float | None = getattr(self.limits, kind)
        own = None if limit is None else limit - used
        return self.guards.least(kind, own) if shared else own
