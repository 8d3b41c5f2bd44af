"""The value codec: host values to and from the *wire tree* that crosses to a guest.

A wire tree is what `json.dumps` takes and `json.loads` gives. Plain JSON stands for
itself; what JSON lacks is an object with the key `"$"` that names its kind:

| Kind | Wire | Host value |
|---|---|---|
| undefined | `{"$": "undefined"}` | `UNDEFINED` |
| NaN, ±Infinity, -0 | `{"$": "number", "v": "NaN"}` | `float` |
| BigInt | `{"$": "bigint", "v": "-1f"}`, hexadecimal | `BigInt`, an `int` |
| Date | `{"$": "date", "v": 0}`, milliseconds since 1970 or null | `datetime` in UTC |
| bytes | `{"$": "bytes", "v": "<base64>"}` | `bytes` |
| Map | `{"$": "map", "v": [[k, v], …]}` | `MapValue` |
| Set | `{"$": "set", "v": […]}` | `SetValue` |
| Error | `{"$": "error", "v": {"name", "message", "stack"}}` | `ErrorValue` |
| object with a key `"$"` | `{"$": "object", "v": [[k, v], …]}` | `dict` |

Everything decoded comes from a guest: unknown kinds, wrong shapes and too much depth
raise `UnsupportedValue`.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final

import attrs

from interpstack.errors import UnsupportedValue

__all__ = [
    "MAX_DEPTH",
    "UNDEFINED",
    "BigInt",
    "ErrorValue",
    "MapValue",
    "SetValue",
    "decode",
    "encode",
]

#: Containers inside containers that may cross, in either direction.
MAX_DEPTH: Final = 200

_MAX_SAFE_INTEGER = 2**53 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Undefined(Enum):
    """Type of `UNDEFINED`, the guest's `undefined` (its `null` is `None`)."""

    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = Undefined.UNDEFINED


class BigInt(int):
    """An integer that is a BigInt in the guest, whatever its size."""


def _pairs(entries: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple((key, value) for key, value in entries)


@attrs.frozen
class MapValue:
    """A guest Map: ordered pairs; keys may be values that Python cannot hash."""

    entries: tuple[tuple[Any, Any], ...] = attrs.field(converter=_pairs)


@attrs.frozen
class SetValue:
    """A guest Set: ordered items that Python may not be able to hash."""

    items: tuple[Any, ...] = attrs.field(converter=tuple)


@attrs.frozen
class ErrorValue:
    """A guest Error as plain data; `stack` may be empty."""

    name: str
    message: str
    stack: str = ""


def encode(value: Any) -> Any:
    """Turn a host value into a wire tree.

    Args:
        value: `None`, `bool`, `int`, `float`, `str`, `bytes`, `datetime`, enums, the classes
            of this module, and mappings, sequences and sets of them. An `int` beyond ±2**53-1
            becomes a BigInt. A mapping whose keys are not all strings becomes a Map.

    Raises:
        UnsupportedValue: Any other type, a cycle, or more than `MAX_DEPTH` levels.
    """
    return _encode(value, "$", 0)


def _encode(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return value if -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER else _bigint(value)
    if kind is float:
        return _encode_float(value)
    if depth >= MAX_DEPTH:
        raise UnsupportedValue(
            f"value is nested deeper than {MAX_DEPTH} levels or contains itself", path[:200]
        )
    if kind is dict:
        return _encode_mapping(value, path, depth)
    if kind is list or kind is tuple:
        return [_encode(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    return _encode_other(value, path, depth)


def _encode_float(value: float) -> Any:
    if math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0):
        return value
    if math.isnan(value):
        text = "NaN"
    else:
        text = "-0" if value == 0 else ("Infinity" if value > 0 else "-Infinity")
    return {"$": "number", "v": text}


def _bigint(value: int) -> Any:
    # Hexadecimal is linear in size and has no limit on digits, unlike str(int).
    return {"$": "bigint", "v": f"{int(value):x}"}


def _encode_mapping(value: Mapping[Any, Any], path: str, depth: int) -> Any:
    if not all(isinstance(key, str) for key in value):
        return _encode_pairs("map", value.items(), path, depth)
    if "$" in value:
        return _encode_pairs("object", value.items(), path, depth)
    # A subclass may print differently from what it is: `str(Colour.RED)` is not its value.
    return {str.__str__(k): _encode(v, f"{path}.{k}", depth + 1) for k, v in value.items()}


def _encode_pairs(kind: str, pairs: Any, path: str, depth: int) -> Any:
    wire = [
        [_encode(k, f"{path}<key {i}>", depth + 1), _encode(v, f"{path}<value {i}>", depth + 1)]
        for i, (k, v) in enumerate(pairs)
    ]
    return {"$": kind, "v": wire}


def _encode_other(value: Any, path: str, depth: int) -> Any:
    if value is UNDEFINED:
        return {"$": "undefined"}
    if isinstance(value, Enum):
        return _encode(value.value, path, depth + 1)
    if isinstance(value, BigInt):
        return _bigint(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$": "bytes", "v": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return {"$": "date", "v": (aware - _EPOCH) / timedelta(milliseconds=1)}
    if isinstance(value, MapValue):
        return _encode_pairs("map", value.entries, path, depth)
    if isinstance(value, (SetValue, Set)):
        items = value.items if isinstance(value, SetValue) else value
        return {"$": "set", "v": [_encode(item, f"{path}<item>", depth + 1) for item in items]}
    if isinstance(value, ErrorValue):
        return {"$": "error", "v": attrs.asdict(value)}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float)):  # subclasses of the plain types
        return _encode((int if isinstance(value, int) else float)(value), path, depth)
    if isinstance(value, Mapping):
        return _encode_mapping(value, path, depth)
    if isinstance(value, Sequence):
        return [_encode(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    raise UnsupportedValue(
        f"a {type(value).__module__}.{type(value).__qualname__} cannot be passed to the guest; "
        "pass None, bool, int, float, str, bytes, datetime, or mappings, sequences and sets of "
        "them",
        path,
    )


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
        unsafe = kind is int and not -_MAX_SAFE_INTEGER <= wire <= _MAX_SAFE_INTEGER
        return float(wire) if unsafe else wire
    if depth > MAX_DEPTH:
        raise UnsupportedValue(f"value is nested deeper than {MAX_DEPTH} levels")
    if kind is list:
        return [_decode(item, depth + 1) for item in wire]
    if "$" in wire:
        return _decode_tagged(wire["$"], wire.get("v"), depth + 1)
    return {key: _decode(value, depth + 1) for key, value in wire.items()}


def _decode_tagged(tag: Any, body: Any, depth: int) -> Any:
    try:
        if tag == "undefined":
            return UNDEFINED
        if tag == "number":
            return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}[body]
        if tag == "bigint":
            return BigInt(body, 16)
        if tag == "date":
            # An invalid Date is NaN in the guest; its honest host form is the number.
            return math.nan if body is None else _moment(body)
        if tag == "bytes":
            return base64.b64decode(body, validate=True)
        if tag == "map":
            return MapValue([(_decode(k, depth), _decode(v, depth)) for k, v in body])
        if tag == "set":
            return SetValue([_decode(item, depth) for item in body])
        if tag == "object":
            return {_string(k): _decode(v, depth) for k, v in body}
        if tag == "error":
            return ErrorValue(*(_string(body[key]) for key in ("name", "message", "stack")))
    except UnsupportedValue:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        raise UnsupportedValue(f"malformed {tag!r} value from the guest") from error
    shown = repr(tag[:40]) if isinstance(tag, str) else f"a {type(tag).__name__}"
    raise UnsupportedValue(f"unknown kind of value from the guest: {shown}")


def _moment(milliseconds: Any) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError as error:
        raise UnsupportedValue(
            "a Date outside the years 1 to 9999 cannot be passed to the host"
        ) from error


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value
