"""The engine protocol beyond its contracts: code for engines, stores and remote ends.

`to_json` and `from_json` write and read its values, `GuestClock` is a clock for guests without one
of their own, `place_at` turns an offset of a source into the `Place` that a reader is shown,
`naming_missing` adds the name of a missing function to an error, `read_json` reads a guest's
JSON while other threads go on, and `to_storable` and `from_storable` keep every text of a record
through any store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack_protocol.lazy import lazy_names

if TYPE_CHECKING:
    from interpstack_protocol.codec import ProtocolError, from_json, to_json
    from interpstack_protocol.guest_clock import GuestClock
    from interpstack_protocol.json_text import read_json
    from interpstack_protocol.missing_members import naming_missing
    from interpstack_protocol.places import place_at
    from interpstack_protocol.stored_texts import from_storable, to_storable
else:
    # A first cell needs one of them.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "GuestClock": "guest_clock",
            "ProtocolError": "codec",
            "from_json": "codec",
            "from_storable": "stored_texts",
            "naming_missing": "missing_members",
            "place_at": "places",
            "read_json": "json_text",
            "to_json": "codec",
            "to_storable": "stored_texts",
        },
    )

__all__ = [
    "GuestClock",
    "ProtocolError",
    "from_json",
    "from_storable",
    "naming_missing",
    "place_at",
    "read_json",
    "to_json",
    "to_storable",
]
