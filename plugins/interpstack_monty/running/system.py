"""System calls of a guest: a clock, and nothing else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, Final

from interpstack.guests import GuestClock

__all__ = ["ANSWERED", "answer_system_call"]

#: The calls that get an answer; all others are refused.
ANSWERED: Final = ("time.time", "datetime.now", "date.today")


def answer_system_call(name: str, args: Sequence[Any], clock: GuestClock) -> Any:
    """The answer to a call of Monty's `os` kind; `None` leaves it refused.

    Args:
        name: As in `datetime.now`.
        args: The guest's arguments.
        clock: The cell's.
    """
    if name not in ANSWERED:
        return None
    now = clock.read()
    if name == "time.time":
        return {"return_value": now}
    zone = args[0] if args and isinstance(args[0], dt.tzinfo) else None
    if name == "datetime.now":
        utc = dt.datetime.fromtimestamp(now, dt.UTC)
        moment = utc.astimezone(zone) if zone is not None else utc.replace(tzinfo=None)
        return {"return_value": moment}
    return {"return_value": dt.datetime.fromtimestamp(now, dt.UTC).date()}
