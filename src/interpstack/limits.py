"""What one cell may use. Every limit can be `None`, which means *no limit*."""

from __future__ import annotations

from typing import Any, Final

import attrs

from interpstack.arguments import shown
from interpstack.errors import ConfigurationError

__all__ = ["Limits"]

_MIB = 2**20
#: The largest values: what every engine, timer and number of a guest can still hold.
_MOST: Final = 2**53
_MOST_SECONDS: Final = 10**9


def positive(kind: type, least: int = 1, optional: bool = True, of: str = "limits") -> Any:
    """A validator of whole numbers from `least`, or of any numbers above 0.

    Args:
        kind: `int` or `float`.
        least: The smallest whole number.
        optional: `None` is accepted, too.
        of: What stands in its messages.
    """

    def validate(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is None and optional:
            return
        most = _MOST_SECONDS if attribute.name.endswith("_seconds") else _MOST
        fits = isinstance(value, int if kind is int else (int, float))
        fits = fits and not isinstance(value, bool) and value <= most
        if fits and (value >= least if kind is int else value > 0):
            return
        whole = f"a whole number from {least} to {most}"
        accepted = whole if kind is int else f"a number above 0, at most {most}"
        also = ", or None for no limit" if optional else ""
        raise ConfigurationError(
            f"{of}: {attribute.name} takes {accepted}{also}; got {shown(value)}"
        )

    return validate


@attrs.frozen(kw_only=True)
class Limits:
    """Limits of one cell; the realm's memory limit holds for its whole life.

    Seconds are at most 10**9, everything else at most 2**53.

    Attributes:
        cpu_seconds: Time the guest itself may compute, waiting for the host not counted.
        wall_seconds: Time from the start of a cell to its answer, everything counted.
        memory_bytes: Bytes of guest memory, at least 4 MiB.
        requests: Awaited bridge calls one cell may make; timers, imports and bridges that are
            not `counted` are left out.
        timers: Timers that may be open at once.
        concurrency: Requests of one cell that may run at once; the rest wait in order.
        result_chars: Characters of the result that are shown.
        console_chars: Characters of console output that are kept.
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
