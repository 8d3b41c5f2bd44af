"""Parameters of classes with fields: their objects are built, and wrong data name the field."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar

import attrs
import pytest

from interpstack import UNDEFINED, Bridge, MapValue, SetValue, encode, simplified
from interpstack_javascript import JAVASCRIPT

_T = TypeVar("_T")


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


@dataclasses.dataclass
class Line:
    item: str
    count: int = 1
    size: Size = Size.SMALL
    total: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("count is at least 1")
        self.total = self.count


@attrs.frozen
class Order:
    lines: list[Line]
    due: datetime | None = None
    _note: str = ""
    tags: dict[str, Line] = attrs.field(factory=dict)
    share: float = attrs.field(default=1.0, validator=attrs.validators.le(1))
    path: Path = attrs.field(default=Path(), converter=Path)


class Place(TypedDict):
    city: str
    zip: NotRequired[str]


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass
class Box(Generic[_T]):
    content: _T
    more: list[_T]


@dataclasses.dataclass
class Refund:
    order: int


@dataclasses.dataclass
class Tree:
    child: Tree | None = None


def bound(annotation: Any, value: Any) -> Any:
    """A value as a handler gets it whose parameter `it` has this annotation."""

    def handler(it: Any) -> None: ...

    handler.__annotations__["it"] = annotation
    _, given = Bridge(name="kit.take", handler=handler).arguments({"it": value}, JAVASCRIPT)
    return given["it"]


DAY = datetime(2030, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("annotation", "value", "made"),
    [
        (Line, {"item": "tea", "count": 2.0, "size": "l"}, Line("tea", 2, Size.LARGE)),
        (Line, {"item": "tea", "count": UNDEFINED}, Line("tea")),
        (Order, {"lines": SetValue([{"item": "a"}])}, Order([Line("a")])),
        (
            Order,
            {"lines": [], "due": DAY, "_note": "n", "tags": MapValue([("a", {"item": "b"})])},
            Order([], DAY, "n", {"a": Line("b")}),
        ),
        (Order, {"lines": [], "due": "2030-01-02T00:00:00+00:00"}, Order([], DAY)),
        (list[Line], [{"item": "a"}], [Line("a")]),
        (dict[str, Line], {"k": {"item": "a"}}, {"k": Line("a")}),
        (Line | None, None, None),
        (Line | None, {"item": "a"}, Line("a")),
        (Refund | Line, {"item": "a"}, Line("a")),
        (list[Line | Refund] | None, [{"order": 1}], [Refund(1)]),
        (Place, {"city": "Oslo"}, {"city": "Oslo"}),
        (Point, {"x": 1}, Point(1)),
        (Point, [1, 2], Point(1, 2)),
        (Box[int], {"content": 1, "more": [2]}, Box(1, [2])),
        (Tree, {"child": {"child": None}}, Tree(Tree())),
        (timedelta, "-P1DT2H3M4.5S", -timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        (Path, "a/b", Path("a/b")),
    ],
    ids=str,
)
def test_an_object_is_built_from_data(annotation: Any, value: Any, made: Any) -> None:
    built = bound(annotation, value)
    assert built == made
    assert type(built) is type(made)


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (Line, {"count": 1}, "field 'it' takes an object with the field 'item'; got"),
        (Line, {"item": 1}, "field 'it.item' takes a string; got 1"),
        (Line, {"item": "a", "cuont": 1}, "no field 'it.cuont'; its object has item, count, size"),
        (Line, {"item": "a", "total": 1}, "no field 'it.total'"),
        (Line, {"item": "a", "count": 0}, "field 'it': count is at least 1"),
        (Line, "tea", "field 'it' takes an object; got"),
        (Line, {"item": "a", "size": "x"}, "field 'it.size' takes one of"),
        (Order, {"lines": [{"item": "a"}, {"item": 2}]}, "field 'it.lines[1].item' takes a string"),
        (Order, {"lines": [], "tags": {"k": {"item": 2}}}, "field 'it.tags.k.item' takes a string"),
        (Order, {"lines": [], "share": 2}, "field 'it': 'share' must be <= 1"),
        (Order | None, {"lines": [{"item": 2}]}, "field 'it.lines[0].item' takes a string"),
        (list[Line] | None, [{"item": 2}], "field 'it[0].item' takes a string"),
        (Line | Refund, {"order": "x"}, "as Refund, field 'it.order' takes a whole number"),
        (Place, {"city": "a", "town": "b"}, "no field 'it.town'; its object has city, zip"),
        (Point, [1, 2, 3], "field 'it' takes an object of at most 2 fields"),
        (Point, {"x": "a"}, "field 'it.x' takes a whole number"),
        (Box[int], {"content": "a", "more": []}, "field 'it.content' takes a whole number"),
        (timedelta, "tomorrow", "field 'it' takes"),
        (timedelta, "P", "field 'it' takes"),
    ],
    ids=str,
)
def test_wrong_data_are_a_type_error_that_names_the_path(
    annotation: Any, value: Any, words: str
) -> None:
    with pytest.raises(TypeError) as caught:
        bound(annotation, value)
    assert words in str(caught.value)
    assert str(caught.value).startswith("kit.take: ")


def test_an_object_that_a_bridge_returns_is_taken_by_a_parameter_of_its_class() -> None:
    order = Order([Line("a", size=Size.LARGE)], note="n", tags={"k": Line("b")})
    sent = simplified(order)
    fields = {name: sent[name] for name in ("_note", "share")}
    lines = [{"item": one.item, "size": one.size.value} for one in order.lines]
    tags = {"k": {"item": "b"}}
    assert encode(order, None, simplified)["_note"] == "n"
    assert bound(Order, {**fields, "lines": lines, "tags": tags}) == order


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"child": value}
    return value


def test_a_deep_object_is_built_or_refused() -> None:
    made, depth = bound(Tree, nested(50)), 0
    while made is not None:
        made, depth = made.child, depth + 1
    assert depth == 51
    with pytest.raises(TypeError, match=r"kit\.take: its input is nested too deep to be checked"):
        bound(Tree, nested(2000))
