"""The engine protocol beyond its contracts: code for engines, stores and remote ends.

`to_json` and `from_json` write and read its values, `GuestClock` is a clock for guests without one
of their own, `place_at` turns an offset of a source into the `Place` that a reader is shown,
`naming_missing` adds the name of a missing function to an error, and `read_json` reads a guest's
JSON while other threads go on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from interpstack_protocol.codec import ProtocolError, from_json, to_json
    from interpstack_protocol.guest_clock import GuestClock
    from interpstack_protocol.json_text import read_json
    from interpstack_protocol.missing_members import naming_missing
    from interpstack_protocol.places import place_at

__all__ = [
    "GuestClock",
    "ProtocolError",
    "from_json",
    "naming_missing",
    "place_at",
    "read_json",
    "to_json",
]

#: The module of each name; a first cell needs one of them.
_MODULES: Final = {
    "GuestClock": "guest_clock",
    "ProtocolError": "codec",
    "from_json": "codec",
    "naming_missing": "missing_members",
    "place_at": "places",
    "read_json": "json_text",
    "to_json": "codec",
}


def __getattr__(name: str) -> Any:
    """A name of this package, whose module is imported when it is used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found  # the next time, this function is not called
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
