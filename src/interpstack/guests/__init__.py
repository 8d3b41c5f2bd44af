"""Helpers for engines.

`GuestClock` is a clock for guests without one of their own, `place_at` turns an offset of a source
into the `Place` that a reader is shown, and the rest finds what code names that is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack.lazy import lazy_names

if TYPE_CHECKING:
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
            "GuestClock": "guest_clock",
            "Looked": "missing_names",
            "cut": "missing_names",
            "function_named": "missing_names",
            "lacking": "missing_names",
            "meant_name": "missing_names",
            "members": "missing_names",
            "missing_function": "missing_names",
            "place_at": "places",
            "shown_functions": "missing_names",
        },
    )

__all__ = [
    "GuestClock",
    "Looked",
    "cut",
    "function_named",
    "lacking",
    "meant_name",
    "members",
    "missing_function",
    "place_at",
    "shown_functions",
]
