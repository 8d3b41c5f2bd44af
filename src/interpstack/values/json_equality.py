"""Equality of JSON values, which is not that of Python, whose `True` is equal to 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["same_json"]


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same as JSON: 1 is 1.0, but not `true`, at any depth.

    Args:
        one: A value as `json.loads` returns it. Objects of other types are compared by `==`.
        other: Another one.
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_json, one, other))
    return one is other or bool(one == other)
