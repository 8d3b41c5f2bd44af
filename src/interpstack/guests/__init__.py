"""Helpers for engines, and for languages that check cells.

`GuestClock` is a clock for guests without one of their own, `place_at` turns an offset of a source
into the `Place` that a reader is shown, `refused` makes the error of a cell that is not run, and
the rest finds what code names that is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack.lazy import lazy_names

if TYPE_CHECKING:
    from interpstack.guests.early_faults import NOT_RUN, EarlyFault, not_run, refused
    from interpstack.guests.guest_clock import GuestClock
    from interpstack.guests.missing_names import (
        Looked,
        cut,
        function_named,
        lacking,
        meant_name,
        members,
        missing_function,
        shown_functions,
    )
    from interpstack.guests.places import place_at
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "NOT_RUN": "early_faults",
            "EarlyFault": "early_faults",
            "GuestClock": "guest_clock",
            "Looked": "missing_names",
            "cut": "missing_names",
            "function_named": "missing_names",
            "lacking": "missing_names",
            "meant_name": "missing_names",
            "members": "missing_names",
            "missing_function": "missing_names",
            "not_run": "early_faults",
            "place_at": "places",
            "refused": "early_faults",
            "shown_functions": "missing_names",
        },
    )

__all__ = [
    "NOT_RUN",
    "EarlyFault",
    "GuestClock",
    "Looked",
    "cut",
    "function_named",
    "lacking",
    "meant_name",
    "members",
    "missing_function",
    "not_run",
    "place_at",
    "refused",
    "shown_functions",
]
