"""Host values as wire trees: bounded while they are encoded, and refused with their place."""

from __future__ import annotations

import datetime as dt
import math
from enum import Enum
from typing import Any

import attrs
import pytest

from interpstack import UNDEFINED, BigInt, ErrorValue, MapValue, SetValue, UnsupportedValue
from interpstack.values.encoding import TooLarge, encode
from interpstack.values.plain import simplified


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (2**53, {"$": "bigint", "v": "20000000000000"}),
        (BigInt(5), {"$": "bigint", "v": "5"}),
        (math.nan, {"$": "number", "v": "NaN"}),
        (-0.0, {"$": "number", "v": "-0"}),
        (UNDEFINED, {"$": "undefined"}),
        (b"\xff", {"$": "bytes", "v": "/w=="}),
        ({1: 2}, {"$": "map", "v": [[1, 2]]}),
        (MapValue([(1, 2)]), {"$": "map", "v": [[1, 2]]}),
        (SetValue([1]), {"$": "set", "v": [1]}),
        ({"$": 1}, {"$": "object", "v": [["$", 1]]}),
        (range(3), [0, 1, 2]),
        (dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC), {"$": "date", "v": 1000.0}),
        (ErrorValue("E", "m"), {"$": "error", "v": {"name": "E", "message": "m", "stack": ""}}),
    ],
    ids=str,
)
def test_values_that_json_lacks_are_tagged(value: Any, wire: Any) -> None:
    assert encode(value) == wire


def test_what_cannot_cross_is_refused_with_its_place() -> None:
    with pytest.raises(UnsupportedValue, match="cannot be passed to the guest") as caught:
        encode({"a": [1, {"b": object()}]})
    assert "$.a[1].b" in str(caught.value)
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(UnsupportedValue, match="contains itself"):
        encode(ring)


def test_the_place_has_no_step_for_what_stands_for_a_value() -> None:
    @attrs.frozen
    class Row:
        cell: Any

    class Kind(Enum):
        ONE = Row(object())

    for value, path in ((Row(object()), "$.cell"), ([1, Row(Kind.ONE)], "$[1].cell.cell")):
        with pytest.raises(UnsupportedValue) as caught:
            encode({"a": 1, "b": value}, simplify=simplified)
        assert caught.value.path == path.replace("$", "$.b")


def test_the_work_is_bounded_and_not_only_the_text() -> None:
    for value in (range(10**40), "x" * 1000, [1] * 1000, {"a": b"x" * 1000}):
        with pytest.raises(TooLarge, match="more than 100 bytes"):
            encode(value, most=100)
    inner: list[Any] = []
    for _ in range(60):  # each level doubles
        inner = [inner, inner]
    with pytest.raises(TooLarge):
        encode(inner, most=10_000)


def test_a_value_may_be_simplified() -> None:
    assert encode([1j], simplify=lambda value: "i" if value == 1j else value) == ["i"]
