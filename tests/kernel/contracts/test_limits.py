from __future__ import annotations

import math
from typing import Any

import attrs
import pytest

from interpstack import ConfigurationError, Limits

_NAMES = [field.name for field in attrs.fields(Limits)]
_OPTIONAL = {"cpu_seconds", "wall_seconds", "memory_bytes", "requests"}
_SECONDS = {"cpu_seconds", "wall_seconds"}


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize(
    "value",
    [0, -1, math.nan, math.inf, -math.inf, True, "5", [5], 1e300, 2**70, 10**400, 10**5000],
    ids=lambda value: (
        str(value)[:9] if not isinstance(value, int) else f"{value.bit_length()} bits"
    ),
)
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"limits: {name} takes .*; got") as info:
        Limits(**{name: value})
    assert isinstance(info.value, ValueError)
    assert ("or None" in str(info.value)) == (name in _OPTIONAL)
    assert len(str(info.value)) < 200


@pytest.mark.parametrize("name", _NAMES)
def test_none_means_no_limit_where_there_may_be_none(name: str) -> None:
    if name in _OPTIONAL:
        assert getattr(Limits(**{name: None}), name) is None
        return
    with pytest.raises(ConfigurationError, match=name):
        Limits(**{name: None})


@pytest.mark.parametrize("name", _NAMES)
def test_only_seconds_may_be_broken(name: str) -> None:
    if name in _SECONDS:
        assert getattr(Limits(**{name: 0.25}), name) == 0.25
        return
    with pytest.raises(ConfigurationError, match=f"{name} takes a whole number"):
        Limits(**{name: 5000000.5})


def test_memory_has_a_minimum() -> None:
    assert Limits(memory_bytes=4 * 2**20).memory_bytes == 4 * 2**20
    with pytest.raises(ConfigurationError, match="memory_bytes"):
        Limits(memory_bytes=4 * 2**20 - 1)


def _most(name: str) -> int:
    return 10**9 if name in _SECONDS else 2**53


@pytest.mark.parametrize("name", _NAMES)
def test_values_have_a_maximum(name: str) -> None:
    assert getattr(Limits(**{name: _most(name)}), name) == _most(name)
    with pytest.raises(ConfigurationError, match=f"{name} takes .* {_most(name)}[,;]"):
        Limits(**{name: _most(name) + 1})


# -- defaults --------------------------------------------------------------------------------


def test_the_peers_defaults() -> None:
    limits = Limits()
    assert (limits.cpu_seconds, limits.memory_bytes) == (5.0, 64 * 2**20)
    assert (limits.requests, limits.result_chars) == (256, 4000)
