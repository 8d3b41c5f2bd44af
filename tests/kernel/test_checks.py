"""Checks of what callers pass: messages are short, whatever the value is."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import attrs
import pytest

from interpstack import ConfigurationError
from interpstack.checks import Value, expect, positive, shown, unique_fields


class _Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("short", "'short'"),
        (_Mute(), "a value of type _Mute"),
        (10**5000, "a value of type int"),
        ("x" * 100, "'" + "x" * 56 + "..."),
        (lambda: 1, "<function <lambda>>"),
        ([object()], "[<object object>]"),
    ],
    ids=["short", "mute", "huge", "long", "function", "object"],
)
def test_wrong_values_are_shown_in_short(value: Any, text: str) -> None:
    assert shown(value) == text


def test_another_type_is_refused() -> None:
    expect("a", str, "x takes a text")
    with pytest.raises(ConfigurationError, match=r"^x takes a text; got 5$"):
        expect(5, str, "x takes a text")


@attrs.frozen
class _Limits:
    count: Any = attrs.field(default=1, validator=positive(int, least=2))
    wall_seconds: Any = attrs.field(default=1, validator=positive(float, optional=False, of="time"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("count", 1, r"limits: count takes a whole number from 2 to \d+, or None for no limit"),
        ("count", 2.0, "got 2.0"),
        ("count", True, "got True"),
        ("count", 2**53 + 1, "a whole number"),
        ("wall_seconds", 0, "time: wall_seconds takes a number above 0, at most 1000000000; got 0"),
        ("wall_seconds", None, "got None"),
        ("wall_seconds", float("nan"), "got nan"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        _Limits(**{"count": 2, "wall_seconds": 1, name: value})


def test_numbers_that_fit_are_taken() -> None:
    assert _Limits(count=None, wall_seconds=0.5) == _Limits(None, 0.5)


@attrs.frozen(eq=False, repr=False)
class _Card(Value):
    number: int
    words: dict[str, str] = attrs.field(factory=dict, hash=False)
    note: str = attrs.field(default="", eq=False)
    key: str = attrs.field(default="k", repr=False)


@attrs.frozen(eq=False, repr=False)
class _Ticket(_Card):
    pass


def test_values_are_equal_if_the_fields_that_are_compared_are() -> None:
    one = _Card(1, {"a": "b"}, note="seen")
    assert one == _Card(1, {"a": "b"}, note="not seen")
    assert one != _Card(2, {"a": "b"}, note="seen")
    assert one != _Card(1, {"a": "c"}, note="seen")
    assert one != _Card(1, {"a": "b"}, key="another")


def test_values_of_two_classes_are_never_equal_and_others_may_say_that_they_are() -> None:
    assert _Card(1) != _Ticket(1)
    assert _Card(1) != 1
    assert _Card(1) == mock.ANY


def test_equal_values_have_one_hash_that_leaves_out_what_has_none() -> None:
    assert {_Card(1, {"a": "b"}, note="seen"), _Card(1, {"a": "b"})} == {_Card(1, {"a": "b"})}
    assert hash(_Card(1)) != hash(_Card(2))
    with pytest.raises(TypeError, match="unhashable"):
        hash(_Card([]))  # type: ignore[arg-type]


def test_values_show_their_fields() -> None:
    assert repr(_Card(1, note="seen")) == "_Card(number=1, words={}, note='seen')"


def test_an_object_of_json_names_each_field_once() -> None:
    assert json.loads('{"a": {"b": 1}, "c": 2}', object_pairs_hook=unique_fields) == {
        "a": {"b": 1},
        "c": 2,
    }
    with pytest.raises(ConfigurationError, match="an object names the field 'b' twice; give each"):
        json.loads('{"a": {"b": 1, "b": 1}}', object_pairs_hook=unique_fields)
