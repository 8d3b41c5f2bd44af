"""Values of the host are copied as plain JSON, and bounded."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import pytest

from interpstack_workflows.steps.host_values import VALUE_BYTES, plain_json


def _nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def _cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def _doubled(levels: int) -> Any:
    value: Any = ["x"]
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("value", "copy"),
    [
        (None, None),
        ("a\ud800", "a\ud800"),
        ({"b": (1, 2.5), "a": True}, {"b": [1, 2.5], "a": True}),
        ({1: "one", "two": 2}, {"1": "one", "two": 2}),
        (2**60, 2**60),
        ({"$": "undefined"}, {"$": "undefined"}),
    ],
)
def test_json_is_copied(value: Any, copy: Any) -> None:
    made = plain_json(value)
    assert made == copy
    assert made is not value or not isinstance(value, (dict, list, tuple))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (_nested(1_000_000), "nested deeper than 200 levels"),
        (_cycle(), "contains itself"),
        (_doubled(60), f"more than {VALUE_BYTES} bytes"),
        ("x" * (VALUE_BYTES + 1), f"more than {VALUE_BYTES} bytes"),
        (b"x", "a builtins.bytes is not JSON; pass it as text, or as None, bool, int"),
        ({"a": [{1, 2}]}, "a builtins.set is not JSON; pass it as text, or as None"),
        (datetime(2024, 1, 1), "a datetime.datetime is not JSON; pass it as text"),
        (object(), "a builtins.object is not JSON; pass it as text, or as None"),
        (math.nan, "not JSON compliant"),
        ({1: "a", "1": "b"}, "two keys that are '1' as text"),
    ],
)
def test_other_values_are_refused(value: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        plain_json(value)


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**40])
def test_whole_numbers_that_a_script_cannot_represent_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match="pass it as text"):
        plain_json({"id": [number]}, exact=True)
    assert plain_json({"id": 2**53 - 1}, exact=True) == {"id": 2**53 - 1}
