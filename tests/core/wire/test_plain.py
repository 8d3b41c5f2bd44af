"""Tests of interpstack_core.wire.plain."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import attrs
import pytest

from interpstack_core import UNDEFINED, MapValue, encode
from interpstack_core.wire.plain import simplified


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


class _Opaque: ...


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
    ],
)
def test_objects_become_plain_data(value: Any, plain: Any) -> None:
    assert simplified(value) == plain
    assert encode(value, None, simplified) == plain


@pytest.mark.parametrize("value", [UNDEFINED, MapValue([]), _Point, _Model, _Opaque(), 5])
def test_others_stay(value: Any) -> None:
    assert simplified(value) is value
