"""The state of a session between two cells, and its export from a realm."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from interpstack.checks import expect
from interpstack.contracts.engine import Capability, Engine, Realm
from interpstack.contracts.errors import EngineFailure, ImageError, UnsupportedValue
from interpstack.contracts.protocol import Image, SessionState
from interpstack.values.decoding import check, decode

__all__ = [
    "check_portable",
    "expanded",
    "load",
    "lost_values",
    "notice_of_data",
    "notice_of_values",
    "sound",
    "squeezed",
    "take_state",
]


#: Names of lost variables that a notice lists, and characters of the reason of each.
_NAMES: Final = 50
_REASON_CHARS: Final = 120
#: A reason that the name of the variable tells by itself: a function has no portable form.
_OF_TYPE: Final = re.compile(r"(it is not serializable \()?type: |\?$")


def take_state(
    realm: Realm, engine: Engine, wants_values: Callable[[Image], bool] = lambda image: True
) -> SessionState:
    """The realm's state, in all forms its engine has.

    Args:
        realm: Between two cells.
        engine: The realm's.
        wants_values: Says whether values are to stand beside such an image.

    Raises:
        EngineFailure: None of them could be taken.
    """
    image = realm.image() if Capability.IMAGES in engine.capabilities else None
    if (image and not wants_values(image)) or Capability.VALUES not in engine.capabilities:
        return SessionState(image=image)
    try:
        values = {name: _portable(wire) for name, wire in realm.values().items()}
        return SessionState(image=image, values=values)
    except EngineFailure:
        # Reading values may run code of the guest, which may have used up time or memory.
        if image is None:
            raise
        return SessionState(image=image, values=_all_lost(realm))


def _all_lost(realm: Realm) -> Mapping[str, Any] | None:
    """Every variable as one that is not carried, so that a notice names it; `None` if unknown."""
    reason = "its value was not exported: reading the variables took too much time or memory"
    try:
        return {name: {"$": "lost", "v": reason} for name in realm.names()}
    except EngineFailure:
        return None


def _portable(wire: Any) -> Any:
    """A value as the engine returned it, unless it is too deep to be stored."""
    tree, _ = check(wire)
    return wire if tree is wire else {"$": "lost", "v": "it is nested too deep"}


def load(realm: Realm, values: Mapping[str, Any]) -> None:
    """Define globals from values that `check_portable` has accepted.

    Raises:
        ImageError: The engine cannot load them.
    """
    try:
        realm.load(values)
    except (EngineFailure, UnsupportedValue) as error:
        raise ImageError(f"the stored values cannot be loaded: {error}") from error


def sound(image: Image) -> Image:
    """An image in the types that engines accept, converted from those of a store.

    Raises:
        ImageError: It is damaged.
    """
    data = bytes(image.data) if isinstance(image.data, (bytearray, memoryview)) else image.data
    if [type(part) for part in (image.engine, image.base, data)] != [str, str, bytes]:
        raise ImageError("the image is damaged: it takes two strings and bytes")
    return attrs.evolve(image, data=data)


def check_portable(values: Any) -> None:
    """Refuse values from which no realm can define globals.

    Raises:
        ConfigurationError: It is not a mapping of names to values.
        ImageError: One of them is damaged: `Realm.values` gives no such form.
        UnsupportedValue: One of them is not plain JSON.
    """
    accepted = "load takes a mapping of names to portable values, as values() gives them"
    expect(values, Mapping, accepted)
    for name, value in values.items():
        expect(name, str, f"{accepted}, and names are strings")
        try:
            text = json.dumps(value, allow_nan=False)
            _check_form(value, text)
        except (UnsupportedValue, RecursionError) as error:
            why = error.reason if isinstance(error, UnsupportedValue) else error
            raise ImageError(f"the stored value of {name!r:.80} is damaged: {why}") from error
        except (TypeError, ValueError) as error:
            message = f"the value is not portable: {error}; {accepted}"
            raise UnsupportedValue(message, f"$.{name}"[:200]) from error


def _check_form(value: Any, text: str) -> None:
    if isinstance(value, dict) and value.get("$") == "lost":
        if not isinstance(value.get("v"), str):
            raise UnsupportedValue("malformed 'lost' value")
        return
    decode(json.loads(text, object_hook=_crossing))


def _crossing(node: dict[str, Any]) -> Any:
    """`None` for what a variable may hold, though it cannot be passed to the host."""
    kind, body = node.get("$"), node.get("v")
    if kind == "date" and type(body) in (int, float):  # no bool
        return None
    if kind == "same":
        name, number = body if type(body) is list and len(body) == 2 else ("", body)
        if type(name) is not str or type(number) is not int or number < 0:
            raise UnsupportedValue("malformed 'same' value")
        return None  # the engine knows whether there is such an object
    return node


def notice_of_values(values: Mapping[str, Any], *, only_losses: bool = False) -> str:
    """Return the notice about a state restored from values; empty where nothing was restored.

    Args:
        values: The values.
        only_losses: Whether the notice is only about values that were not restored.
    """
    lost = lost_values(values)
    notice = "Variables of earlier cells were restored from their values."
    named = f" Not restored: {_named(lost)}." if lost else ""
    return "" if not values or (only_losses and not lost) else notice + named


def lost_values(values: Mapping[str, Any]) -> dict[str, str]:
    """The variables without a portable value, with the reason of each."""
    return {k: v["v"] for k, v in values.items() if isinstance(v, dict) and v.get("$") == "lost"}


def notice_of_data(lost: Mapping[str, str]) -> str:
    """The notice about variables that will not outlive the engine's memory; empty without any.

    Their author may take them for data: functions and the like, which never outlive it, are left
    out.
    """
    data = {name: why for name, why in lost.items() if not _OF_TYPE.match(why)}
    return f"Not stored for other processes: {_named(data)}." if data else ""


def _named(lost: Mapping[str, str]) -> str:
    """The names of lost variables; a variable whose type has a portable form has its reason."""
    names = sorted(lost)
    alike: dict[str, list[str]] = {}
    for name in names[:_NAMES]:
        why = "" if _OF_TYPE.match(lost[name]) else lost[name][:_REASON_CHARS]
        alike.setdefault(why, []).append(name)
    plain = alike.pop("", [])
    reasons = [f"{', '.join(found)} ({why})" for why, found in alike.items()]
    shown = "; ".join([*filter(None, [", ".join(plain)]), *reasons])
    return shown + (f"; and {len(names) - _NAMES} more" if len(names) > _NAMES else "")


def squeezed(image: Image) -> Image:
    """The image in the form for memory: compressed, if it is not as small as most."""
    data = zlib.compress(image.data, 1) if len(image.data) > 2**13 else b"=" + image.data
    return Image(image.engine, image.base, data)


def expanded(image: Image) -> Image:
    """The image as the engine takes it."""
    data = image.data[1:] if image.data[:1] == b"=" else zlib.decompress(image.data)
    return Image(image.engine, image.base, data)
