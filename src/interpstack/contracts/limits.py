"""Limits of one cell. `None` means *no limit*, where a limit may be `None`."""

from __future__ import annotations

import attrs

from interpstack.checks import Value, number_of, positive

__all__ = ["Limits"]

_MIB = 2**20


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Limits(Value):
    """Limits of one cell; the realm's memory limit holds for its whole life.

    Seconds are at most 10**9, everything else at most 2**53.

    Attributes:
        cpu_seconds: Time the guest itself may compute, waiting for the host not counted.
        wall_seconds: Time from the start of a cell to its answer, everything counted.
        memory_bytes: Bytes of guest memory, at least 4 MiB.
        requests: Awaited bridge calls that one cell may make, without timers, imports and bridges
            that are not `counted`.
        timers: Timers that may be open at once.
        concurrency: Requests of one cell that may run at once; the rest wait in order.
        result_chars: Characters of the result that are shown.
        console_chars: Characters of console output that are returned at most.
        value_bytes: Bytes of one value that crosses, in either direction.
        source_bytes: Bytes of one cell's source as UTF-8.

    Raises:
        ConfigurationError: A value is of the wrong type or out of bounds.
    """

    cpu_seconds: float | None = attrs.field(default=5.0, validator=positive(float))
    wall_seconds: float | None = attrs.field(default=600.0, validator=positive(float))
    memory_bytes: int | None = attrs.field(default=64 * _MIB, validator=positive(int, 4 * _MIB))
    requests: int | None = attrs.field(default=256, validator=positive(int))
    timers: int = attrs.field(default=1000, validator=positive(int, optional=False))
    concurrency: int = attrs.field(default=128, validator=positive(int, optional=False))
    result_chars: int = attrs.field(default=4000, validator=positive(int, optional=False))
    console_chars: int = attrs.field(default=4000, validator=positive(int, optional=False))
    value_bytes: int = attrs.field(default=16 * _MIB, validator=positive(int, optional=False))
    source_bytes: int = attrs.field(default=_MIB, validator=positive(int, optional=False))

    @property
    def too_many_requests(self) -> str:
        """The message of the error of a call beyond `requests`."""
        return f"the cell may make {number_of(self.requests or 0, 'call')}; this was one more"
