"""Objects of the host as plain data; `tests/integration` has those of libraries."""

from __future__ import annotations

import dataclasses
from collections import UserString
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import attrs
import pytest

from interpstack import UNDEFINED, MapValue, UnsupportedValue, encode, plain_key, simplified


class _Colour(Enum):
    RED = "red"


@dataclasses.dataclass
class _Point:
    x: int


@attrs.frozen
class _Box:
    width: int


class _Model:
    def model_dump(self) -> dict[str, Any]:
        return {"field": 1}


class _Tensor:
    def tolist(self) -> list[Any]:
        return [1, [2]]


class _Opaque: ...


class _Raising:
    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError("the session is closed")


@dataclasses.dataclass
class _Unset:
    x: int = dataclasses.field(init=False)


@dataclasses.dataclass
class _Both(list[int]):
    x: int


@dataclasses.dataclass(init=False)
class _Filled(dict[str, Any]):
    x: int

    def __init__(self, x: int, items: dict[str, Any]) -> None:
        super().__init__(items)
        self.x = x


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime(2030, 1, 2, 3, 4, tzinfo=UTC), "2030-01-02T03:04:00+00:00"),
        (datetime(2030, 1, 2, 3, 4), "2030-01-02T03:04:00"),
        (date(2030, 1, 2), "2030-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(days=-1, seconds=1), "-P0DT86399S"),
        (timedelta(microseconds=1500), "P0DT0.0015S"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.50"), "1.50"),
        (PurePosixPath("a/b"), "a/b"),
        (_Colour.RED, "red"),
        (_Point(1), {"x": 1}),
        (_Box(2), {"width": 2}),
        (_Model(), {"field": 1}),
        (IPv4Address("10.0.0.1"), "10.0.0.1"),
        (_Tensor(), [1, [2]]),
        (UserString("text"), "text"),
        (_Both(3), {"x": 3}),
        (_Filled(3, {"x": 4}), {"x": 3}),
    ],
)
def test_objects_become_plain_data(value: Any, plain: Any) -> None:
    assert simplified(value) == plain
    assert encode(value, None, simplified) == plain


@pytest.mark.parametrize("value", [UNDEFINED, MapValue([]), _Point, _Model, _Opaque(), 5])
def test_others_stay(value: Any) -> None:
    assert simplified(value) is value


def test_a_point_in_time_may_stay_what_it_is() -> None:
    day = datetime(2030, 1, 2, tzinfo=UTC)
    assert simplified(day, times_as_text=False) is day
    assert simplified(day.date(), times_as_text=False) == "2030-01-02"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("a", "a"),
        (True, "true"),
        (None, "null"),
        (3, "3"),
        (1.5, "1.5"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (_Colour.RED, "red"),
    ],
)
def test_keys_become_text_as_in_json(key: Any, text: str) -> None:
    assert plain_key(key) == text


def test_a_key_without_a_text_of_its_own_is_refused() -> None:
    with pytest.raises(UnsupportedValue, match="a key of the type tuple cannot be the name"):
        plain_key((1, 2))


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (iter([1]), "convert it to a list of plain data"),
        (1j, "convert it to None, bool, int"),
        (ValueError("x"), "convert it to None, bool, int"),
    ],
)
def test_an_object_without_a_form_is_refused_with_a_remedy(value: Any, remedy: str) -> None:
    with pytest.raises(UnsupportedValue, match=remedy):
        encode([value], None, simplified)


def test_an_object_whose_own_conversion_raises_is_refused_by_its_type() -> None:
    with pytest.raises(UnsupportedValue, match=r"_Raising .* RuntimeError: the session is closed"):
        encode({"a": _Raising()}, None, simplified)
    with pytest.raises(UnsupportedValue, match=r"_Unset .* AttributeError: .*'x'"):
        encode([_Unset()], None, simplified)


def test_a_container_with_fields_does_not_lose_its_items() -> None:
    page = _Both(7)
    page.append(1)
    with pytest.raises(UnsupportedValue, match="_Both has fields and items of its own"):
        encode(page, None, simplified)
    with pytest.raises(UnsupportedValue, match="_Filled has fields and items of its own"):
        encode(_Filled(3, {"y": 4}), None, simplified)
