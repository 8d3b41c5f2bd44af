"""Readers of a guest's state: its names, and its values as wire trees.

The guest's kernel gives both, and a cell may have put its own functions in the kernel's place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import attrs

from interpstack import UnsupportedValue
from interpstack_monty.crossing.errors import KNOWN
from interpstack_monty.crossing.values import Room, from_guest
from interpstack_monty.workers import RESERVED, KernelReplaced, MontyWorker

__all__ = ["SessionGlobals", "export", "globals_in", "lost", "why"]

#: Bytes that all values of a session may occupy in the host, and bytes of one small item.
_ROOM_BYTES: Final = 2**24
_ITEM_BYTES: Final = 64
#: Characters of a reason that are stored.
_REASON_CHARS: Final = 300


@attrs.frozen
class SessionGlobals:
    """The global names of a session.

    Attributes:
        own: Names of the guest.
        taken: Names of bridges to which a cell assigned another value.
    """

    own: tuple[str, ...]
    taken: tuple[str, ...]


def globals_in(
    worker: MontyWorker, hidden: frozenset[str], bound: frozenset[str]
) -> SessionGlobals:
    """The names in a worker; call it inside `watched`.

    Args:
        worker: Holds the session.
        hidden: Current and earlier names of bridges.
        bound: Current names of bridges.

    Raises:
        MontyError: The kernel failed, or the session is lost.
        KernelReplaced: The kernel's answer has another form.
    """
    # A text, whatever was put in the kernel's place: other values may take long to convert.
    found = worker.run('f"{__interpstack_globals__(__interpstack_locals__())}"')
    lines = found.split("\n") if isinstance(found, str) else []
    if len(lines) != 2:
        raise KernelReplaced("functions that the engine keeps in the session were replaced")
    names, taken = (dict.fromkeys(line.split()) for line in lines)
    named = (name for name in names if name.isidentifier() and not name.startswith(RESERVED))
    # A cell may use the name of an earlier bridge for a variable: then its value is another.
    own = (n for n in named if n not in hidden or (n in taken and n not in bound))
    return SessionGlobals(own=tuple(own), taken=tuple(name for name in taken if name in bound))


def export(worker: MontyWorker, names: Sequence[str]) -> dict[str, Any]:
    """The values of globals in a worker as wire trees; call it inside `watched`.

    Raises:
        MontyError: The kernel failed, or the session is lost.
        KernelReplaced: The kernel's answer cannot be read.
    """
    wanted = json.dumps(names, ensure_ascii=False)
    given = f"{wanted}, {_ROOM_BYTES}, {_ITEM_BYTES}, {json.dumps(sorted(KNOWN))}"
    found = worker.run(f"__interpstack_export__(__interpstack_locals__(), {given})")
    entries = found if isinstance(found, dict) else {}
    room = Room(_ROOM_BYTES, _ITEM_BYTES)
    return {name: _wire(entries.get(name), room) for name in names}


def _wire(entry: Any, room: Room) -> Any:
    if not isinstance(entry, (list, tuple)) or len(entry) != 2:
        return lost("it could not be read")
    value, reason = entry
    if reason is not None:
        return lost(reason if isinstance(reason, str) else "it could not be read")
    try:
        return from_guest(value, room, exact=True)
    except UnsupportedValue as error:
        return lost(why(error))
    except Exception as error:  # noqa: BLE001 - whatever the guest made of it, it is one value
        return lost(f"it could not be read: {type(error).__name__}")


def lost(reason: str) -> Any:
    """The wire form of a missing value."""
    return {"$": "lost", "v": reason[:_REASON_CHARS]}


def why(error: Exception) -> str:
    """The message of an error, as the reason why a value is missing."""
    reason = error.reason if isinstance(error, UnsupportedValue) else str(error)
    return reason.partition("\n")[0][:_REASON_CHARS]
