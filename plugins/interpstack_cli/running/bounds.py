"""Checks of the amounts that commands take, with click's errors."""

from __future__ import annotations

from typing import Final, TypeVar

import click

from interpstack.checks import most_memory_bytes

__all__ = ["check_mebibytes", "check_seconds"]

_MIB: Final = 2**20
_LEAST_MIB: Final = 4
_MOST_SECONDS: Final = 10**9

_Seconds = TypeVar("_Seconds", float, "float | None")
_Mebibytes = TypeVar("_Mebibytes", int, "int | None")


def check_seconds(ctx: click.Context, option: click.Parameter, value: _Seconds) -> _Seconds:
    """Return a time limit as it is.

    Raises:
        click.BadParameter: It is not above 0, or is too large.
    """
    if value is not None and not 0 < value <= _MOST_SECONDS:
        message = f"takes seconds above 0, at most {_MOST_SECONDS}; got {value:g}"
        raise click.BadParameter(message, ctx, option)
    return value


def check_mebibytes(ctx: click.Context, option: click.Parameter, value: _Mebibytes) -> _Mebibytes:
    """Return a memory limit in MiB as it is.

    Raises:
        click.BadParameter: It is too small for any engine, or larger than the machine's memory.
    """
    most = most_memory_bytes() // _MIB
    if value is not None and not _LEAST_MIB <= value <= most:
        message = f"takes {_LEAST_MIB} to {most} MiB, the memory of this machine; got {value}"
        raise click.BadParameter(message, ctx, option)
    return value
