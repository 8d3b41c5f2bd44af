"""Host values to wire trees: see `interpstack.values` for the forms."""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final

import attrs

from interpstack.contracts.errors import UnsupportedValue
from interpstack.values.decoding import (
    EPOCH,
    MAX_DEPTH,
    MAX_SAFE_INTEGER,
    UNDEFINED,
    BigInt,
    ErrorValue,
    MapValue,
    SetValue,
    StandIn,
)

__all__ = ["TooLarge", "encode"]

#: Characters that may be encoded before they are counted.
_PORTION: Final = 4096


class TooLarge(UnsupportedValue):
    """A value has more characters as JSON than may cross."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the value has more than {most} bytes as JSON")


def encode(
    value: Any,
    most: int | None = None,
    simplify: Callable[[Any], Any] | None = None,
    *,
    tuples: bool = False,
) -> Any:
    """Turn a host value into a wire tree.

    Args:
        value: `None`, `bool`, `int`, `float`, `str`, `bytes`, `datetime`, enums, the classes
            of this module, and mappings, sequences and sets of them. An `int` beyond ±2**53-1
            becomes a BigInt. A mapping whose keys are not all strings becomes a Map.
        most: Characters of JSON that it may have. They are counted from below while the value is
            encoded, so that the work is bounded, too; the text itself may be somewhat longer.
        simplify: Returns a replacement for a value that is not plain JSON, or the value itself.
        tuples: Mark tuples, so that `decode` returns tuples; else they become lists.

    Raises:
        TooLarge: It has more than `most` characters.
        UnsupportedValue: Any other type, a cycle, or more than `MAX_DEPTH` levels.
    """
    return _Encoder(most, simplify, tuples).tree(value, 0)


class _Encoder:
    """Encodes one value."""

    def __init__(
        self, most: int | None, simplify: Callable[[Any], Any] | None, tuples: bool
    ) -> None:
        self._most = math.inf if most is None else most
        self._spent = 0
        self._simplify = simplify
        self._tuples = tuples
        self._trail: list[str | int | None] = [None] * (MAX_DEPTH + 1)
        self._deepest = 0
        # A part is encoded once: lists that hold each other twice double with each level.
        self._made: dict[int, tuple[Any, Any, int, int]] = {}

    def tree(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            self._spend(len(value) + 2)
            return value
        if kind is int:
            if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                self._spend(1)
                return value
            return self._bigint(value)
        if kind is bool or value is None:
            self._spend(4)
            return value
        if kind is float:
            self._spend(3)
            return _encode_float(value)
        if depth >= MAX_DEPTH:
            raise self._refused(
                f"value is nested deeper than {MAX_DEPTH} levels or contains itself", depth
            )
        if kind is dict or kind is list or kind is tuple:
            return self._container(value, depth)
        return self._other(value, depth)

    def _container(self, value: Any, depth: int) -> Any:
        known = self._made.get(id(value))
        if known is not None and depth + known[3] <= MAX_DEPTH:
            self._spend(known[2])
            self._deepest = max(self._deepest, depth + known[3])
            return known[1]
        spent, deepest, self._deepest = self._spent, self._deepest, depth + 1
        made = self._fields(value, depth) if type(value) is dict else self._items(value, depth)
        if self._tuples and type(value) is tuple:
            self._spend(30)
            made = {"$": "list", "v": made, "tuple": True}
        height, self._deepest = self._deepest - depth, max(deepest, self._deepest)
        self._made[id(value)] = (value, made, self._spent - spent, height)  # keeps the id its own
        return made

    # The two below handle the most frequent types inline: for 1,000 rows, calls take longest.
    def _items(self, value: Iterable[Any], depth: int) -> list[Any]:
        made: list[Any] = []
        spent = 2
        for item in value:
            kind = type(item)
            if kind is str:
                spent += len(item) + 3
                made.append(item)
            elif kind is int and -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
                spent += 2
                made.append(item)
            else:
                spent += 1
                self._trail[depth] = len(made)
                made.append(self.tree(item, depth + 1))
            if spent > _PORTION:
                self._spend(spent)
                spent = 0
        self._spend(spent)
        return made

    def _fields(self, value: Mapping[Any, Any], depth: int) -> Any:
        made: dict[str, Any] = {}
        spent = 2
        for key, item in value.items():
            if type(key) is not str:
                if not isinstance(key, str):
                    return self._pairs("map", value.items(), depth)
                key = str.__str__(key)  # its text may differ from its value
            spent += len(key) + 4
            kind = type(item)
            if kind is str:
                spent += len(item) + 2
                made[key] = item
            elif kind is int and -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
                spent += 1
                made[key] = item
            else:
                self._trail[depth] = key
                made[key] = self.tree(item, depth + 1)
            if spent > _PORTION:
                self._spend(spent)
                spent = 0
        self._spend(spent)
        if "$" not in made:
            return made
        return {"$": "object", "v": [list(pair) for pair in made.items()]}

    def _pairs(self, kind: str, pairs: Iterable[Any], depth: int) -> Any:
        made: list[Any] = []
        for key, item in pairs:
            self._trail[depth] = f"<key {len(made)}>"
            encoded = self.tree(key, depth + 1)
            self._trail[depth] = f"<value {len(made)}>"
            made.append([encoded, self.tree(item, depth + 1)])
            self._spend(4)
        return {"$": kind, "v": made}

    def _other(self, value: Any, depth: int) -> Any:
        self._trail[depth] = None  # what stands for it is not a step of the path
        simpler = value if self._simplify is None else self._simpler(value, depth)
        if simpler is not value:
            return self.tree(simpler, depth if isinstance(simpler, str) else depth + 1)
        if value is UNDEFINED:
            self._spend(16)
            return {"$": "undefined"}
        if isinstance(value, Enum):
            return self.tree(value.value, depth + 1)
        if isinstance(value, BigInt):
            return self._bigint(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            self._spend(memoryview(value).nbytes // 3 * 4)
            return {"$": "bytes", "v": base64.b64encode(bytes(value)).decode("ascii")}
        if isinstance(value, datetime):
            return self._date(value, depth)
        if isinstance(value, ErrorValue):
            self._spend(len(value.name) + len(value.message) + len(value.stack))
            return {"$": "error", "v": attrs.asdict(value)}
        if isinstance(value, StandIn):
            about = {"id": value.id, **value.about}
            return {"$": "standin", "v": self._fields(about, depth)}
        if isinstance(value, str):
            return self.tree(str.__str__(value), depth)
        if isinstance(value, (int, float)):  # subclasses of the plain types
            return self.tree((int if isinstance(value, int) else float)(value), depth)
        return self._other_container(value, depth)

    def _simpler(self, value: Any, depth: int) -> Any:
        try:
            return self._simplify(value) if self._simplify is not None else value
        except UnsupportedValue as error:
            raise self._refused(error.reason, depth) from error

    def _other_container(self, value: Any, depth: int) -> Any:
        if isinstance(value, MapValue):
            return self._pairs("map", value.entries, depth)
        if isinstance(value, (SetValue, Set)):
            items = value.items if isinstance(value, SetValue) else value
            wire = {"$": "set", "v": self._items(items, depth)}
            return (
                {**wire, "frozen": True} if isinstance(value, SetValue) and value.frozen else wire
            )
        if isinstance(value, Mapping):
            return self._fields(value, depth)
        if isinstance(value, Sequence):
            self._spend(_length(value))  # a range takes no room until it is encoded
            return self._items(value, depth)
        raise self._refused(
            f"a {type(value).__module__}.{type(value).__qualname__} cannot be passed to the guest; "
            f"{_remedy(value)}",
            depth,
        )

    def _bigint(self, value: int) -> Any:
        self._spend(value.bit_length() // 4)
        # Hexadecimal is linear in size and has no limit on digits, unlike str(int).
        return {"$": "bigint", "v": f"{int(value):x}"}

    def _date(self, value: datetime, depth: int) -> Any:
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        try:
            wire = {"$": "date", "v": (aware - EPOCH) / timedelta(milliseconds=1)}
        except OverflowError as error:
            raise self._refused("a datetime before year 1 in UTC cannot cross", depth) from error
        return wire if value.tzinfo else {**wire, "naive": True}

    def _spend(self, count: int) -> None:
        self._spent += count
        if self._spent > self._most:
            raise TooLarge(int(self._most))

    def _refused(self, why: str, depth: int) -> UnsupportedValue:
        keys = [key for key in self._trail[:depth] if key is not None]
        path = "".join(f"[{k}]" if isinstance(k, int) else f".{k:.80}" for k in keys)
        return UnsupportedValue(why, f"${path}"[:200])


def _remedy(value: Any) -> str:
    if isinstance(value, (Iterable, AsyncIterable)):
        return "convert it to a list of plain data, such as dictionaries"
    return (
        "convert it to None, bool, int, float, str, bytes, datetime, or mappings, sequences and "
        "sets of them"
    )


def _length(value: Sequence[Any]) -> int:
    try:
        return len(value)
    except OverflowError:  # such as range(10**40)
        return sys.maxsize


def _encode_float(value: float) -> Any:
    if math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0):
        return value
    text = "NaN" if math.isnan(value) else "-0" if value == 0 else f"{'-' * (value < 0)}Infinity"
    return {"$": "number", "v": text}
