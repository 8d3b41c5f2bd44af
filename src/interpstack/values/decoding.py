"""The values that cross to a guest, and the *wire tree* they cross as.

A wire tree is a value for `json.dumps`, as `json.loads` returns it. Plain JSON represents itself;
other types are objects with the key `"$"` that names their kind:

| Kind | Wire | Host value |
|---|---|---|
| undefined | `{"$": "undefined"}` | `UNDEFINED` |
| NaN, ±Infinity, -0 | `{"$": "number", "v": "NaN"}` | `float` |
| BigInt | `{"$": "bigint", "v": "-1f"}`, hexadecimal | `BigInt`, an `int` |
| Date | `{"$": "date", "v": 0}`, milliseconds since 1970 or null | `datetime` in UTC |
| one without a zone | `{"$": "date", "v": 0, "naive": true}`, as if in UTC | naive `datetime` |
| bytes | `{"$": "bytes", "v": "<base64>"}` | `bytes` |
| Map | `{"$": "map", "v": [[k, v], …]}` | `MapValue` |
| Set | `{"$": "set", "v": […]}` | `SetValue` |
| saved array that is more than its items | `{"$": "list", "v": […]}` | `list` |
| saved tuple | `{"$": "list", "v": […], "tuple": true}` | `tuple` |
| saved frozen set | `{"$": "set", "v": […], "frozen": true}` | `SetValue` with `frozen` |
| Error | `{"$": "error", "v": {"name", "message", "stack"}}` | `ErrorValue` |
| a value that stays with the host | `{"$": "standin", "v": {"id": "h1", …}}` | `StandIn` |
| object with a key `"$"` | `{"$": "object", "v": [[k, v], …]}` | `dict` |
| saved object that is met again | `{"$": "same", "v": 5}`, see below | none |
| what the host did not take | `{"$": "unreadable", "v": "<why>"}` | raises `UnsupportedValue` |

Values that cross hold copies. Only the variables of `Realm.values` share objects, and may hold
themselves. Every object of a variable has a number, from 0, in the order in which the objects
begin in its text; `undefined`, numbers and BigInts are no objects. Where an object is met again,
its number stands, or `["name", 5]`: the variable that holds it first, and its number there. Only
an engine that loads the variables can follow that.

Guests make them, so unknown kinds, wrong shapes and too much depth raise `UnsupportedValue`.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final

import attrs

from interpstack.checks import Value
from interpstack.contracts.errors import UnsupportedValue

__all__ = [
    "EPOCH",
    "MAX_DEPTH",
    "MAX_SAFE_INTEGER",
    "UNDEFINED",
    "BigInt",
    "ErrorValue",
    "MapValue",
    "SetValue",
    "StandIn",
    "check",
    "decode",
]

#: Containers inside containers that may cross, in either direction.
MAX_DEPTH: Final = 200

#: Digits of a BigInt.
_HEXADECIMAL: Final = r"-?[0-9a-f]+"
#: Tag of the replacement for a refused tree, see `check`.
_UNREADABLE: Final = "unreadable"
#: Why a tree with a reference has no host value.
_SHARED: Final = (
    "an object in it is held in another place, too, or holds itself; it would come back as a copy"
)
#: Objects and arrays inside each other in a wire tree: a tag takes up to three for one level.
_WIRE_DEPTH: Final = 3 * MAX_DEPTH + 3
MAX_SAFE_INTEGER: Final = 2**53 - 1
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Undefined(Enum):
    """Type of `UNDEFINED`, the guest's `undefined` (its `null` is `None`)."""

    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = Undefined.UNDEFINED


class BigInt(int):
    """An integer of any size that is a BigInt in the guest."""


def _parts(items: Any) -> tuple[Any, ...]:
    return tuple(items)


def _pairs(entries: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple((key, value) for key, value in entries)


@attrs.frozen(eq=False, repr=False)
class MapValue(Value):
    """A guest Map: ordered pairs; keys may be values that Python cannot hash."""

    entries: tuple[tuple[Any, Any], ...] = attrs.field(converter=_pairs)


@attrs.frozen(eq=False, repr=False)
class SetValue(Value):
    """A guest Set: ordered items that Python may not be able to hash.

    Attributes:
        items: The items.
        frozen: Whether it is a frozen set of a guest in Python; only variables make the difference.
    """

    # Not `tuple` itself, whose signature attrs takes 6 ms to read.
    items: tuple[Any, ...] = attrs.field(converter=_parts)
    frozen: bool = attrs.field(default=False, kw_only=True)


@attrs.frozen(eq=False, repr=False)
class ErrorValue(Value):
    """A guest Error as plain data; `stack` may be empty."""

    name: str
    message: str
    stack: str = ""


class StandIn:
    """Stands in code for a value that stays with the host; see `ValueExchange`.

    Args:
        id: Names the value. It comes back from code, so nothing follows from it alone.
        about: What code sees of the value, such as its size: plain JSON data.
    """

    # Not a class of attrs, which takes a part of a millisecond of every first cell to make.
    __slots__ = ("about", "id")

    def __init__(self, id: str, about: Mapping[str, Any] | None = None) -> None:  # noqa: A002
        self.id = id
        self.about: Mapping[str, Any] = {} if about is None else about

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StandIn):
            return NotImplemented
        return (self.id, self.about) == (other.id, other.about)

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"StandIn({self.id!r}, {self.about!r})"


def check(wire: Any, most: int | None = None) -> tuple[Any, bool]:
    """Check a wire tree of an engine, without trust in its guest or kernel.

    Args:
        wire: A return value of `json.loads`.
        most: Bytes of JSON that it may have, counted from below; `None` for any number.

    Returns:
        The tree, and whether it is plain: it holds no tag and is its own decoded form. In place
        of a tree that is too large or too deep stands one that `decode` refuses.
    """
    level, size, plain = [wire], 0, True
    for _ in range(_WIRE_DEPTH):
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                size += len(item if item.isascii() else item.encode("utf-8", "surrogatepass")) + 2
            elif kind is list:
                size += len(item) + 1
                inner += item
            elif kind is dict:
                plain = plain and "$" not in item
                size += 3 * len(item) - 1
                inner += ("".join(item), *item.values())
            elif kind is int and not -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
                plain = False  # a double in the guest
        if most is not None and size > most:
            return {"$": _UNREADABLE, "v": f"the value has more than {most} bytes as JSON"}, False
        if not inner:
            return wire, plain
        level = inner
    return {"$": _UNREADABLE, "v": f"value is nested deeper than {MAX_DEPTH} levels"}, False


def decode(wire: Any) -> Any:
    """Turn a wire tree from a guest into a host value.

    Raises:
        UnsupportedValue: The tree is malformed or deeper than `MAX_DEPTH`.
    """
    return _decode(wire, 0)


def _decode(wire: Any, depth: int) -> Any:
    kind = type(wire)
    if kind is not dict and kind is not list:
        # A number beyond the safe integers is a double in the guest, not a BigInt.
        unsafe = kind is int and not -MAX_SAFE_INTEGER <= wire <= MAX_SAFE_INTEGER
        return _double(wire) if unsafe else wire
    if depth > MAX_DEPTH:
        raise UnsupportedValue(f"value is nested deeper than {MAX_DEPTH} levels")
    if kind is list:
        return [_decode(item, depth + 1) for item in wire]
    if "$" in wire:
        return _decode_tagged(wire, wire["$"], wire.get("v"), depth + 1)
    return {key: _decode(value, depth + 1) for key, value in wire.items()}


def _decode_tagged(wire: dict[str, Any], tag: Any, body: Any, depth: int) -> Any:
    try:
        if tag == "undefined":
            return UNDEFINED
        if tag == "number":
            return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}[body]
        if tag == "bigint":
            return BigInt(re.fullmatch(_HEXADECIMAL, body)[0], 16)  # type: ignore[index]
        if tag == "date":
            # An invalid Date is NaN in the guest; its honest host form is the number.
            if wire["v"] is None:
                return math.nan
            moment = _moment(_of(body, int, float))
            return moment.replace(tzinfo=None) if wire.get("naive") is True else moment
        if tag == "bytes":
            return base64.b64decode(body, validate=True)
        if tag == "map":
            return MapValue([(_decode(k, depth), _decode(v, depth)) for k, v in _pairs_of(body)])
        if tag in ("set", "list"):
            items = [_decode(i, depth) for i in _of(body, list)]  # no frames of a call around it
            return _sequence(items, wire)
        if tag == "object":
            return {_of(k, str): _decode(v, depth) for k, v in _pairs_of(body)}
        if tag == "standin":
            about = _of(_decode(body, depth), dict)
            return StandIn(_of(about.pop("id"), str), about)
        if tag == "error":
            return ErrorValue(*(_of(body[key], str) for key in ("name", "message", "stack")))
    except UnsupportedValue:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        raise UnsupportedValue(f"malformed {tag!r} value") from error
    raise UnsupportedValue(_refusal(tag, body))


def _sequence(items: list[Any], wire: dict[str, Any]) -> Any:
    if wire["$"] == "set":
        return SetValue(items, frozen=wire.get("frozen") is True)
    return tuple(items) if wire.get("tuple") is True else items


def _refusal(tag: Any, body: Any) -> str:
    if tag == "same":
        return _SHARED
    if tag == _UNREADABLE and isinstance(body, str):
        return body[:200]
    shown = repr(tag[:40]) if isinstance(tag, str) else f"a {type(tag).__name__}"
    return f"unknown kind of value: {shown}"


def _moment(milliseconds: Any) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError as error:
        why = "a date outside the years 1 to 9999 cannot be passed to the host"
        raise UnsupportedValue(why) from error


def _of(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise TypeError("not what the tag says")
    return value


def _pairs_of(body: Any) -> list[list[Any]]:
    return [_of(pair, list) for pair in _of(body, list)]


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)  # as the guest reads it
