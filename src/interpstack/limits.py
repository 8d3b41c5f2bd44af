"""What one cell may use. Every limit can be `None`, which means *no limit*."""

from __future__ import annotations

from typing import Any

import attrs

from interpstack.errors import ConfigurationError

__all__ = ["Limits"]

_MIB = 2**20


def positive(kind: type, minimum: float = 0, optional: bool = True, of: str = "limits") -> Any:
    """A validator of numbers greater than `minimum`; `of` stands in its messages."""
    accepted = "a whole number" if kind is int else "a number"

    def validate(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is None and optional:
            return
        wrong_type = isinstance(value, bool) or not isinstance(
            value, int if kind is int else (int, float)
        )
        if wrong_type or not value > minimum or value == float("inf"):
            least = f"greater than {minimum:g}"
            also = ", or None for no limit" if optional else ""
            raise ConfigurationError(
                f"{of}: {attribute.name} takes {accepted} {least}{also}; got {value!r}"
            )

    return validate


@attrs.frozen(kw_only=True)
class Limits:
    """Limits of one cell; the realm's memory limit holds for its whole life.

    Attributes:
        cpu_seconds: Time the guest itself may compute, waiting for the host not counted.
        wall_seconds: Time from the start of a cell to its answer, everything counted.
        memory_bytes: Bytes of guest memory, at least 4 MiB.
        requests: Awaited bridge calls one cell may make; timers are not counted.
        timers: Timers that may be open at once.
        concurrency: Requests of one cell that may run at once; the rest wait in order.
        result_chars: Characters of the result that are shown.
        console_chars: Characters of console output that are kept.
        value_bytes: Bytes of one value that crosses, in either direction.
        source_bytes: Bytes of one cell's source as UTF-8.

    Raises:
        ConfigurationError: A value is of the wrong type or not positive.
    """

    cpu_seconds: float | None = attrs.field(default=5.0, validator=positive(float))
    wall_seconds: float | None = attrs.field(default=600.0, validator=positive(float))
    memory_bytes: int | None = attrs.field(default=64 * _MIB, validator=positive(int, 4 * _MIB - 1))
    requests: int | None = attrs.field(default=256, validator=positive(int))
    timers: int = attrs.field(default=1000, validator=positive(int, optional=False))
    concurrency: int = attrs.field(default=128, validator=positive(int, optional=False))
    result_chars: int = attrs.field(default=4000, validator=positive(int, optional=False))
    console_chars: int = attrs.field(default=4000, validator=positive(int, optional=False))
    value_bytes: int = attrs.field(default=16 * _MIB, validator=positive(int, optional=False))
    source_bytes: int = attrs.field(default=_MIB, validator=positive(int, optional=False))
