from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import (
    UNDEFINED,
    BigInt,
    ErrorValue,
    MapValue,
    SetValue,
    UnsupportedValue,
    decode,
    encode,
)
from interpstack.values.decoding import MAX_DEPTH, check

# Any code point, lone surrogates too, and keys that are special to JSON, Python or a guest.
_text = st.text(st.characters()) | st.sampled_from(
    ["$", "v", "__proto__", "constructor", "toString", "\ud800", "a\udfffb", ""]
)
_moments = st.datetimes(
    min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)
).map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, fold=0))
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False)
    | _text
    | st.integers().map(BigInt)
    | st.binary()
    | _moments
    | st.just(UNDEFINED)
    | st.builds(ErrorValue, _text, _text, _text)
)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_text, inner, max_size=4)
        | st.lists(st.tuples(inner, inner), max_size=3).map(MapValue)
        | st.lists(inner, max_size=3).map(SetValue)
    ),
    max_leaves=20,
)
_kinds = st.sampled_from(
    ["undefined", "number", "bigint", "date", "bytes", "map", "set", "object", "error", "no"]
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _text,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_text, inner, max_size=4)
        | st.fixed_dictionaries({"$": _kinds | inner, "v": inner})
    ),
    max_leaves=20,
)


def _cross(value: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value))))


@given(_values)
def test_values_survive_the_crossing(value: Any) -> None:
    assert repr(_cross(value)) == repr(value)  # repr tells -0.0 from 0.0 and True from 1


@given(_values)
def test_wire_trees_survive_the_crossing(value: Any) -> None:
    wire = encode(value)
    assert json.dumps(encode(decode(wire))) == json.dumps(wire)


@given(_json)
def test_whatever_a_guest_sends_decodes_or_is_unsupported(wire: Any) -> None:
    with contextlib.suppress(UnsupportedValue):
        decode(wire)


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (-0.0, {"$": "number", "v": "-0"}),
        (math.inf, {"$": "number", "v": "Infinity"}),
        (-math.inf, {"$": "number", "v": "-Infinity"}),
        (2**53, {"$": "bigint", "v": "20000000000000"}),
        (BigInt(-31), {"$": "bigint", "v": "-1f"}),
        ({"$": 1}, {"$": "object", "v": [["$", 1]]}),
        ({1: "a"}, {"$": "map", "v": [[1, "a"]]}),
        ({"__proto__": 1}, {"__proto__": 1}),
        ((1, [2]), [1, [2]]),
        (frozenset({1}), {"$": "set", "v": [1]}),
        (range(2), [0, 1]),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), {"$": "date", "v": 1000}),
        (datetime(1970, 1, 1, 0, 0, 1), {"$": "date", "v": 1000, "naive": True}),
        (bytearray(b"ab"), {"$": "bytes", "v": "YWI="}),
    ],
)
def test_wire_form(value: Any, wire: Any) -> None:
    assert encode(value) == wire


def _check(wire: Any, most: int | None = None) -> tuple[bool, bool]:
    tree, plain = check(wire, most)
    if tree is not wire:
        with pytest.raises(UnsupportedValue):
            decode(tree)
    return tree is wire, plain


@pytest.mark.parametrize(
    ("wire", "plain"),
    [
        ({"a": [1, 1.5, "x", None, True, {}]}, True),
        ("$", True),
        (["$", {"a": "$"}], True),
        ({"$": "nothing"}, False),
        ([[{"a": {"$": 1}}]], False),
        (2**53, False),
        ({"a": [-(2**60)]}, False),
    ],
    ids=repr,
)
def test_whether_a_tree_is_plain_is_found_out(wire: Any, plain: bool) -> None:
    assert _check(wire) == (True, plain)
    if plain:
        assert decode(wire) == wire


@given(_json)
def test_plain_trees_are_their_own_decoded_form(wire: Any) -> None:
    if check(wire)[1]:
        assert repr(decode(wire)) == repr(wire)


@pytest.mark.parametrize(
    "wire",
    [
        "x" * 1000,
        ["x" * 300] * 4,
        {"k" * 1000: 1},
        [[[1, 2]] * 400],
        [{"a": n} for n in range(400)],
        {"a": {"b": ["x" * 996]}},
    ],
    ids=lambda wire: str(wire)[:20],
)
def test_trees_that_are_too_large_are_replaced(wire: Any) -> None:
    assert _check(wire, 1000) == (False, False)
    assert len(json.dumps(wire, separators=(",", ":"))) > 1000
    assert _check(wire, 100_000)[0]


@given(_json)
def test_the_count_of_characters_is_never_too_high(wire: Any) -> None:
    text = json.dumps(wire, separators=(",", ":"), ensure_ascii=False)
    size = len(text.encode("utf-8", "surrogatepass"))
    assert check(wire, size)[0] is wire


def test_trees_that_are_too_deep_are_replaced() -> None:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]
    assert _check(nested) == (False, False)
    shared: Any = []
    for _ in range(60):
        shared = [shared, shared]
    assert _check(shared, 100_000) == (False, False)
    while nested != 1:  # freed one by one: at once, it would take too much stack
        nested = nested[0]


def test_a_moment_without_a_zone_stays_without() -> None:
    assert repr(_cross(datetime(2030, 5, 1, 8))) == repr(datetime(2030, 5, 1, 8))
    assert decode({"$": "date", "v": 0, "naive": 1}).tzinfo is UTC


def test_integers_longer_than_python_prints_cross() -> None:
    assert _cross(-(10**5000)) == -(10**5000)


@pytest.mark.parametrize("milliseconds", [8.64e15, -8.64e15, 1e300, math.inf])
def test_dates_that_python_lacks_are_reported(milliseconds: float) -> None:
    with pytest.raises(UnsupportedValue, match="a date outside the years 1 to 9999"):
        decode([{"$": "date", "v": milliseconds}])
    with pytest.raises(UnsupportedValue, match="malformed 'date'"):
        decode({"$": "date", "v": "soon"})


def test_not_a_number_crosses() -> None:
    assert encode(math.nan) == {"$": "number", "v": "NaN"}
    assert math.isnan(_cross(math.nan))
    assert math.isnan(decode({"$": "date", "v": None}))


def test_moments_of_other_zones_are_the_same_instant() -> None:
    moment = datetime(2024, 2, 29, 12, tzinfo=timezone(timedelta(hours=-7)))
    assert _cross(moment) == moment


class _Colour(str, Enum):  # noqa: UP042 - prints as `_Colour.RED`
    RED = "red"


class _Shout(str):
    def __str__(self) -> str:
        return self.upper()


def test_subclasses_of_plain_types_cross_as_their_plain_value() -> None:
    assert _cross({_Colour.RED: _Colour.RED, "b": _Shout("b")}) == {"red": "red", "b": "b"}


def _nested(levels: int, inner: Any = 1) -> Any:
    for _ in range(levels):
        inner = [inner]
    return inner


def test_depth_is_limited_both_ways() -> None:
    assert _cross(_nested(MAX_DEPTH)) == _nested(MAX_DEPTH)
    for broken in (_nested(MAX_DEPTH + 1), _nested(900)):
        with pytest.raises(UnsupportedValue, match="deeper than 200"):
            encode(broken)
    with pytest.raises(UnsupportedValue, match="deeper than 200"):
        decode(_nested(MAX_DEPTH + 2))


def _frames(function: Callable[[Any], Any], value: Any) -> tuple[Any, int]:
    """What a function makes of a value, and the most frames inside each other meanwhile."""
    now = most = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal now, most
        now += {"call": 1, "return": -1}.get(event, 0)
        most = max(most, now)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        made = function(value)
    finally:
        sys.setprofile(before)
    return made, most


@pytest.mark.parametrize(
    "nest",
    {
        "lists": lambda inner: [inner],
        "dictionaries": lambda inner: {"a": inner},
        "keys with a dollar": lambda inner: {"$": inner},
        "Maps": lambda inner: MapValue([(1, inner)]),
        "keys of Maps": lambda inner: MapValue([(inner, 1)]),
        "Sets": lambda inner: SetValue([inner]),
    }.items(),
    ids=lambda item: item[0],
)
def test_the_deepest_values_leave_room_on_the_stack_of_a_host(nest: Any) -> None:
    value = 1
    for _ in range(MAX_DEPTH):
        value = nest[1](value)
    wire, frames = _frames(encode, value)
    assert frames <= 4 * MAX_DEPTH + 10  # of 1,000 that Python allows
    made, frames = _frames(decode, wire)
    assert frames <= 3 * MAX_DEPTH + 10
    assert encode(made) == wire


def test_a_cycle_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append({"again": cycle})
    with pytest.raises(UnsupportedValue, match="contains itself"):
        encode(cycle)


@pytest.mark.parametrize("value", [object(), 1j, lambda: 0, iter([])])
def test_unsupported_values_are_named_with_their_place(value: Any) -> None:
    name = type(value).__qualname__
    with pytest.raises(UnsupportedValue, match=rf"{name} cannot be passed.*\$\.rows\[1\]") as info:
        encode({"rows": [0, value]})
    assert info.value.path == "$.rows[1]"
    assert isinstance(info.value, TypeError)


@pytest.mark.parametrize(
    "wire",
    [
        {"$": "no such kind"},
        {"$": None},
        {"$": _nested(900)},
        {"$": "number", "v": "1"},
        {"$": "number", "v": []},
        {"$": "bigint", "v": "xyz"},
        {"$": "bigint", "v": 5},
        {"$": "bigint", "v": "0x1"},
        {"$": "bigint", "v": "1_0"},
        {"$": "date"},
        {"$": "date", "v": True},
        {"$": "map", "v": ["ab"]},
        {"$": "set", "v": "abc"},
        {"$": "list", "v": "abc"},
        {"$": "date", "v": "today"},
        {"$": "date", "v": 1e300},
        {"$": "bytes", "v": "a"},
        {"$": "bytes", "v": "é"},
        {"$": "map", "v": [[1]]},
        {"$": "map", "v": 1},
        {"$": "set"},
        {"$": "object", "v": [[1, 2, 3]]},
        {"$": "object", "v": [[_nested(900), 1]]},
        {"$": "error", "v": {"name": "E"}},
        {"$": "error", "v": {"name": _nested(900), "message": "", "stack": ""}},
    ],
    ids=lambda wire: str(wire)[:40],
)
def test_malformed_wire_trees_are_refused(wire: Any) -> None:
    with pytest.raises(UnsupportedValue):
        decode(wire)


def test_a_reference_between_variables_has_no_host_value() -> None:
    with pytest.raises(UnsupportedValue, match="it would come back as a copy"):
        decode([{"$": "same", "v": 0}])


def test_tuples_and_frozen_sets_of_variables_are_marked() -> None:
    value = [(1, (2,)), SetValue([(3,)], frozen=True), SetValue([4])]
    wire = encode(value, tuples=True)
    found = decode(wire)
    assert found[0] == (1, (2,))
    assert [(one.items, one.frozen) for one in found[1:]] == [(((3,),), True), ((4,), False)]
    assert decode(encode((1, (2,)))) == [1, [2]]


def test_what_a_saved_array_has_beside_its_items_is_for_javascript_alone() -> None:
    wire = {"$": "list", "v": [1, {"$": "undefined", "hole": True}], "own": [["a", 1]]}
    assert decode({**wire, "closed": "frozen"}) == [1, UNDEFINED]
