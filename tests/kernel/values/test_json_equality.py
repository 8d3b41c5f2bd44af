"""Equality of JSON values."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack.values import same_json

_APART: list[Any] = [None, False, 0, "0", "", [], {}, True, 1, [1], [True], {"a": 1}, {"a": True}]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (0, -0.0),
        (2**60, 2.0**60),
        ([{"a": [1]}], [{"a": [1.0]}]),
        ({"a": True, "b": 2}, {"b": 2, "a": True}),
    ],
)
def test_equal_values(one: Any, other: Any) -> None:
    assert same_json(one, other)
    assert same_json(other, one)


def test_values_of_other_types_are_apart_at_any_depth() -> None:
    for wrap in (lambda v: v, lambda v: [v], lambda v: {"x": [v, 2]}):
        same = [[same_json(wrap(one), wrap(other)) for other in _APART] for one in _APART]
        assert same == [[n == m for m in range(len(_APART))] for n in range(len(_APART))]
