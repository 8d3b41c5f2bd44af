"""Values between the wire and what Monty's client takes and gives.

A tuple, a set and a frozenset of the guest become a list and sets on the wire, as for every
engine. JavaScript kinds that Python lacks take the nearest form: `undefined` is `None`, a Map
a dictionary (a list of pairs if its keys cannot be hashed), a Set a set (or a list).
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from interpstack import (
    UNDEFINED,
    BigInt,
    ErrorValue,
    GuestError,
    MapValue,
    SetValue,
    decode,
    encode,
)
from interpstack_monty.errors import exception_for

__all__ = ["answer", "clean", "from_guest", "to_guest"]


def clean(text: str) -> str:
    """Text without lone surrogates, which Monty has no form for."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def from_guest(value: Any) -> Any:
    """The wire tree of a value that Monty's client gave.

    Raises:
        UnsupportedValue: It has no form, or is nested too deep.
    """
    return encode(_plain(value, 0))


def _plain(value: Any, depth: int) -> Any:
    """The same value without exceptions, and with sets in an order."""
    kind = type(value)
    if kind in (str, int, float, bool, bytes) or value is None or depth > 1000:
        return value
    if isinstance(value, dict):
        if all(type(key) is str for key in value):
            return {key: _plain(item, depth + 1) for key, item in value.items()}
        return MapValue((_plain(k, depth + 1), _plain(v, depth + 1)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        # Python's own order differs from process to process, and a run must be repeatable.
        return SetValue(sorted((_plain(item, depth + 1) for item in value), key=_order))
    if isinstance(value, BaseException):
        return ErrorValue(type(value).__name__, str(value))
    return value


def _order(item: Any) -> str:
    return json.dumps(encode(item))


def answer(text: str) -> Any:
    """The same as `to_guest` for JSON text from the host; most texts hold nothing special."""
    wire = json.loads(text)
    return wire if '"$"' not in text and "\\ud" not in text else to_guest(wire)


def to_guest(wire: Any) -> Any:
    """The value that Monty's client takes for a wire tree.

    Raises:
        UnsupportedValue: The tree is malformed or too deep.
    """
    return _python(decode(wire))


def _python(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _python(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_python(item) for item in value]
    if value is UNDEFINED:
        return None
    if isinstance(value, BigInt):
        return int(value)
    if isinstance(value, MapValue):
        return _mapping([(_python(key), _python(item)) for key, item in value.entries])
    if isinstance(value, SetValue):
        return _set([_python(item) for item in value.items])
    if isinstance(value, ErrorValue):
        return exception_for(GuestError(value.name, value.message))
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC)
    return value


def _mapping(pairs: list[tuple[Any, Any]]) -> Any:
    try:
        return dict(pairs)
    except TypeError:
        return [list(pair) for pair in pairs]


def _set(items: list[Any]) -> Any:
    try:
        return set(items)
    except TypeError:
        return items
