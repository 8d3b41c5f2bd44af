"""What a guest asks of its system: it has a clock, and nothing else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

__all__ = ["answer_system_call"]


def answer_system_call(name: str, args: Sequence[Any], now: float) -> Any:
    """The answer to a call of Monty's `os` kind; `None` leaves it refused.

    Args:
        name: As in `datetime.now`.
        args: What the guest gave.
        now: The host's clock in seconds since 1970.
    """
    if name == "time.time":
        return {"return_value": now}
    zone = args[0] if args and isinstance(args[0], dt.tzinfo) else None
    if name == "datetime.now":
        utc = dt.datetime.fromtimestamp(now, dt.UTC)
        moment = utc.astimezone(zone) if zone is not None else utc.replace(tzinfo=None)
        return {"return_value": moment}
    if name == "date.today":
        return {"return_value": dt.datetime.fromtimestamp(now, dt.UTC).date()}
    return None
