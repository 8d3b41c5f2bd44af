from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, TypedDict
from uuid import UUID

import pytest

from interpstack import UNDEFINED, Bridge, BridgeError, BridgeRegistry, MapValue
from interpstack_core.wire.signatures import Signature


class _Unit(Enum):
    CELSIUS = "c"
    KELVIN = "k"


class _Place(TypedDict):
    city: str
    zip: int


def _bind(annotation: Any, value: Any) -> Any:
    def function(field: Any) -> None: ...

    function.__annotations__["field"] = annotation
    return Signature.of(function, "kit.f", skip="context").bind({"field": value})["field"]


@pytest.mark.parametrize(
    ("annotation", "value", "bound"),
    [
        (str, "a", "a"),
        (int, 3.0, 3),
        (float, 3, 3),
        (bool, True, True),
        (bytes, b"a", b"a"),
        (
            datetime,
            datetime(2024, 1, 1, tzinfo=UTC),
            datetime(2024, 1, 1, tzinfo=UTC),
        ),
        (datetime, "2024-01-01T10:00:00", datetime(2024, 1, 1, 10)),
        (datetime, "2024-01-01T10:00:00Z", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        (datetime | None, "2024-01-01", datetime(2024, 1, 1)),
        (str | datetime, "2024-01-01", "2024-01-01"),
        (date, "2024-02-29", date(2024, 2, 29)),
        (date, datetime(2024, 2, 29, tzinfo=UTC), date(2024, 2, 29)),
        (time, "10:30:00+02:00", time(10, 30, tzinfo=timezone(timedelta(hours=2)))),
        (UUID, str(UUID(int=7)), UUID(int=7)),
        (Decimal, "1.10", Decimal("1.10")),
        (Decimal, 1.1, Decimal("1.1")),
        (list[date], ["2024-02-29"], [date(2024, 2, 29)]),
        (str | None, None, None),
        (int | str, "a", "a"),
        (Literal["a", "b"], "b", "b"),
        (_Unit, "k", _Unit.KELVIN),
        (list[int], [1, 2.0], [1, 2]),
        (Sequence[str], ["a"], ["a"]),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[int, ...], [1, 2, 3], (1, 2, 3)),
        (set[int], [1, 1], {1}),
        (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
        (_Place, {"city": "Oslo", "zip": 1.0, "more": 1}, {"city": "Oslo", "zip": 1, "more": 1}),
        (Any, MapValue([(1, 2)]), MapValue([(1, 2)])),
        (Callable[[], int], "anything", "anything"),
    ],
    ids=str,
)
def test_accepted(annotation: Any, value: Any, bound: Any) -> None:
    got = _bind(annotation, value)
    assert (got, type(got)) == (bound, type(bound))


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (str, 1, "'field' takes a string; got 1"),
        (int, True, "'field' takes a whole number; got True"),
        (int, 1.5, "'field' takes a whole number; got 1.5"),
        (float, "1", "'field' takes a number; got '1'"),
        (bool, 0, "'field' takes true or false; got 0"),
        (str | None, 1, "'field' takes a string or null; got 1"),
        (datetime, "soon", "'field' takes a Date, or a date and time as text in ISO 8601; got"),
        (datetime, 1, "'field' takes a Date, or a date and time"),
        (date, "2024-02-30", "'field' takes a date as text in ISO 8601; got '2024-02-30'"),
        (UUID, "7", "'field' takes a UUID as text; got '7'"),
        (Decimal, "much", "'field' takes a number, or a decimal number as text; got 'much'"),
        (Decimal, True, "'field' takes a number, or a decimal"),
        (Literal["a", "b"], "c", r"'field' takes one of \['a', 'b'\]; got 'c'"),
        (_Unit, "f", r"'field' takes one of \['c', 'k'\]; got 'f'"),
        (list[int], {"length": 0}, "'field' takes an array"),
        (list[int], [1, "x"], r"'field\[1\]' takes a whole number; got 'x'"),
        (tuple[int, str], [1], "'field' takes an array of 2"),
        (dict[str, int], [], "'field' takes an object"),
        (dict[str, int], {"a": "x"}, "'field.a' takes a whole number"),
        (_Place, {"city": "Oslo"}, "'field' takes an object with the field 'zip'"),
        (str, ["x" * 100], r"'field' takes a string; got \['x{50,}\.\.\."),
    ],
    ids=str,
)
def test_refused_with_the_field_and_what_it_takes(
    annotation: Any, value: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=f"kit.f: field {message}"):
        _bind(annotation, value)


def _today(city: str, days: int = 1, *, context: Any = None) -> None: ...


@pytest.mark.parametrize(
    ("value", "bound"),
    [
        ({"city": "Oslo"}, {"city": "Oslo"}),
        ({"city": "Oslo", "days": UNDEFINED}, {"city": "Oslo"}),
        ({"city": "Oslo", "days": 2}, {"city": "Oslo", "days": 2}),
    ],
)
def test_missing_and_undefined_fields_leave_the_default(value: Any, bound: Any) -> None:
    assert Signature.of(_today, "w.today", skip="context").bind(value) == bound


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Oslo", r"w.today takes one object with the fields \{city, days\?\}"),
        ([], "takes one object"),
        (None, "needs the field 'city'"),
        (UNDEFINED, "needs the field 'city'"),
        ({"city": UNDEFINED}, "needs the field 'city'"),
        ({"town": "Oslo"}, r"has no field 'town'; it takes \{city, days\?\}"),
        ({"city": "Oslo", "context": 1}, "has no field 'context'"),
        ({"city": "Oslo", "__proto__": 1}, "has no field '__proto__'"),
    ],
)
def test_wrong_objects_are_refused(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Signature.of(_today, "w.today", skip="context").bind(value)


def test_var_keyword_takes_any_field() -> None:
    def any_field(**fields: int) -> None: ...

    assert Signature.of(any_field, "f", skip="context").bind({"a": "x"}) == {"a": "x"}


class _Counter:
    def __call__(self, step: int) -> int:
        return step


def test_callables_that_are_no_functions_are_checked_too() -> None:
    for handler in (_Counter(), functools.partial(_today, days=3), _Counter().__call__):
        item = Bridge(name="kit.f", handler=handler)
        field = "city" if isinstance(handler, functools.partial) else "step"
        with pytest.raises(TypeError, match=f"field '{field}' takes"):
            item.arguments({field: []})


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, /: 0, "'a' cannot be passed by name"),
        (lambda *a: 0, "'a' cannot be passed by name"),
        (type, "cannot read its signature"),
    ],
)
def test_functions_that_guests_cannot_call_are_refused(function: Any, message: str) -> None:
    with pytest.raises(BridgeError, match=f"bridge 'kit.f': .*{message}"):
        BridgeRegistry([Bridge(name="kit.f", handler=function)])


def test_unknown_annotations_are_told_when_the_bridge_is_made() -> None:
    def function(field: Nowhere) -> None: ...  # noqa: F821

    with pytest.raises(BridgeError, match=r"cannot read its signature.*Nowhere"):
        Signature.of(function, "kit.f", skip="context")
