"""Helpers for engines.

`GuestClock` is a clock for guests without one of their own, `place_at` turns an offset of a source
into the `Place` that a reader is shown, and `naming_missing` adds the name of a missing function to
an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack.lazy import lazy_names

if TYPE_CHECKING:
    from interpstack.guests.guest_clock import GuestClock
    from interpstack.guests.missing_members import naming_missing
    from interpstack.guests.places import place_at
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "GuestClock": "guest_clock",
            "naming_missing": "missing_members",
            "place_at": "places",
        },
    )

__all__ = ["GuestClock", "naming_missing", "place_at"]
