from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntFlag
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
    Union,
    Unpack,
)
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import (
    UNDEFINED,
    BigInt,
    Bridge,
    BridgeError,
    BridgeRegistry,
    ErrorValue,
    GuestLanguage,
    MapValue,
    SetValue,
    decode,
    encode,
)
from interpstack.values.plain import simplified
from interpstack.values.signatures import Signature
from interpstack_javascript import JAVASCRIPT
from interpstack_python import PYTHON


class _Unit(Enum):
    CELSIUS = "c"
    KELVIN = "k"


class _Level(Enum):
    LOW = 1
    HIGH = 2


class _Right(IntFlag):
    READ = 4
    WRITE = 2


class _Side(Flag):
    LEFT = 1
    RIGHT = 2


class _Loose(TypedDict, total=False):
    """Its annotations are text, as everywhere in this module."""

    name: Required[str]
    size: int
    inner: NotRequired[list[_Loose]]


_T = TypeVar("_T")
_Bound = TypeVar("_Bound", bound=int)
_LOOSE = {"name": "a", "size": 2, "inner": [{"name": "b"}]}


class _Box(TypedDict, Generic[_T]):
    content: list[_T]


class _Place(TypedDict):
    city: str
    zip: int


def _bind(annotation: Any, value: Any) -> Any:
    def function(field: Any) -> None: ...

    function.__annotations__["field"] = annotation
    return Signature.of(function, "kit.f", skip="context").bind({"field": value}, JAVASCRIPT)[
        "field"
    ]


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
        (_Right, 2, _Right.WRITE),
        (_Right, 6, _Right.READ | _Right.WRITE),
        (_Right, 0, _Right(0)),
        (_Side, 3, _Side.LEFT | _Side.RIGHT),
        (list[_Side], [1, 3], [_Side.LEFT, _Side.LEFT | _Side.RIGHT]),
        (list[int], SetValue([1, 2.0]), [1, 2]),
        (tuple[int, ...], SetValue([1]), (1,)),
        (list[int], [1, 2.0], [1, 2]),
        (Sequence[str], ["a"], ["a"]),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[int, ...], [1, 2, 3], (1, 2, 3)),
        (set[int], [1, 1], {1}),
        (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
        (_Place, {"city": "Oslo", "zip": 1.0}, {"city": "Oslo", "zip": 1}),
        (Any, MapValue([(1, 2)]), MapValue([(1, 2)])),
        # keys: an object has text, a Map has anything
        (dict[int, int], {"1": 2, "-3": 4}, {1: 2, -3: 4}),
        (dict[int, int], MapValue([(1, 2)]), {1: 2}),
        (dict[float, int], {"1.5": 2}, {1.5: 2}),
        (dict[bool, int], {"true": 2}, {True: 2}),
        (dict[str, int], {"1": 2}, {"1": 2}),
        (dict[int | str, int], {"1": 2, "a": 3}, {"1": 2, "a": 3}),
        (dict[date, int], {"2024-02-29": 2}, {date(2024, 2, 29): 2}),
        (dict[_Level, int], {"1": 2}, {_Level.LOW: 2}),
        (dict[tuple[int, int], str], MapValue([([1, 2], "a")]), {(1, 2): "a"}),
        (dict, MapValue([(1, None)]), {1: None}),
        (dict[str, None], {"a": None}, {"a": None}),
        (Mapping[int, set[int]], {"1": SetValue([2])}, {1: {2}}),
        (set[int], SetValue([1, 2.0]), {1, 2}),
        (set, SetValue(["a"]), {"a"}),
        (frozenset[str], SetValue(["a"]), frozenset({"a"})),
        (frozenset[str], ["a"], frozenset({"a"})),
        (Set[date], SetValue(["2024-02-29"]), {date(2024, 2, 29)}),
        (set[frozenset[int]], SetValue([SetValue([1])]), {frozenset({1})}),
        # booleans are no numbers, though Python says so
        (Literal[1], 1, 1),
        (Literal[1], 1.0, 1),
        (Literal[True], True, True),
        (Literal[1, True], True, True),
        (Literal[0, False, None], None, None),
        (Literal[_Unit.KELVIN], "k", _Unit.KELVIN),
        (_Level, 1, _Level.LOW),
        (int | bool, True, True),
        (float | bool, True, True),
        (bool | int, 1, 1),
        (int | float, 2, 2),
        (Decimal, BigInt(10**30), Decimal(10**30)),
        # other spellings
        (list[dict[str, int]] | None, [{"a": 1}], [{"a": 1}]),
        (list[Annotated[int, "positive"] | None], [1, None], [1, None]),
        (Annotated[list[Annotated[int, 1]], 2], [1.0], [1]),
        (NewType("Id", int), 1.0, 1),
        (list[_T], ["a"], ["a"]),
        (list[_Bound], [1.0], [1]),
        (tuple[()], [], ()),
        (tuple, ["a", 1], ("a", 1)),
        (tuple[int, ...] | None, [1], (1,)),
        (_Loose, {"name": "a"}, {"name": "a"}),
        (_Loose, {"name": "a", "size": UNDEFINED}, {"name": "a"}),
        (_Loose, {"name": "a", "size": 2.0, "inner": [{"name": "b"}]}, _LOOSE),
        (_Box[int], {"content": [1]}, {"content": [1]}),
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
        (int, True, "'field' takes a whole number; got true"),
        (int, 1.5, "'field' takes a whole number; got 1.5"),
        (float, "1", "'field' takes a number; got \"1\""),
        (bool, 0, "'field' takes true or false; got 0"),
        (str | None, 1, "'field' takes a string or null; got 1"),
        (datetime, "soon", "'field' takes a Date, or a date and time as text in ISO 8601; got"),
        (datetime, 1, "'field' takes a Date, or a date and time"),
        (date, "2024-02-30", "'field' takes a date as text in ISO 8601; got \"2024-02-30\""),
        (UUID, "7", "'field' takes a UUID as text; got \"7\""),
        (Decimal, "much", "'field' takes a number, or a decimal number as text; got \"much\""),
        (Decimal, True, "'field' takes a number, or a decimal"),
        (Literal["a", "b"], "c", '\'field\' takes one of "a", "b"; got "c"'),
        (_Unit, "f", '\'field\' takes one of "c", "k"; got "f"'),
        (_Right, 8, "'field' takes one of 4, 2 or their sum; got 8"),
        (_Right, -1, "'field' takes one of 4, 2 or their sum; got -1"),
        (_Side, True, "'field' takes one of 1, 2 or their sum; got true"),
        (str, MapValue([(1, [UNDEFINED])]), r"'field' takes a string; got new Map\(\[\[1, \["),
        (str, SetValue([BigInt(1), True]), r"'field' takes a string; got new Set\(\[1n, true\]\)$"),
        (str, b"\x01\xff", r"'field' takes a string; got new Uint8Array\(\[1, 255\]\)$"),
        (
            str,
            datetime(2030, 1, 2, tzinfo=UTC),
            r'.field. takes a string; got new Date\("2030-01-02T00:00:00Z"\)$',
        ),
        (
            str,
            ErrorValue("RangeError", "bad"),
            r'.field. takes a string; got new RangeError\("bad"\)$',
        ),
        (list[int], [UNDEFINED], r"'field\[0\]' takes a whole number; got undefined$"),
        (dict[str, int], MapValue([(True, 1)]), "'field.true' takes a string; got true"),
        (dict[Any, int], MapValue([(MapValue([(1, [])]), 1)]), r"'field.new Map\(\[\[1, \[\]"),
        (int | dict[str, float], MapValue([("a", 1), (1, 1)]), "'field.1' takes a string; got 1"),
        (int | set[str], SetValue(["a", 1]), r"'field\[1\]' takes a string; got 1"),
        (list[int], {"length": 0}, "'field' takes an array"),
        (list[int], [1, "x"], r"'field\[1\]' takes a whole number; got \"x\""),
        (tuple[int, str], [1], "'field' takes an array of 2"),
        (dict[str, int], [], "'field' takes an object"),
        (dict[str, int], {"a": "x"}, "'field.a' takes a whole number"),
        (_Place, {"city": "Oslo"}, "'field' takes an object with the field 'zip'"),
        (dict[int, int], {"a": 1}, "'field.a' takes a whole number; got \"a\""),
        (dict[int, int], {"01": 1}, "'field.01' takes a whole number; got \"01\""),
        (dict[int, int], {"1.5": 1}, "'field.1.5' takes a whole number; got \"1.5\""),
        (dict[int, int], {"9" * 99: 1}, "'field.9{99}' takes a whole number; got"),
        (dict[int, int], {"1": 1, "1.0": 2}, "'field' takes each key once; got 'field.1.0' again"),
        (dict[str, int], MapValue([(1, 1)]), "'field.1' takes a string; got 1"),
        (dict[Any, int], MapValue([([1], 1)]), r"'field.\[1\]' takes a string or a number; got"),
        (dict[int, int], SetValue([1]), "'field' takes an object; got"),
        (set[int], {"a": 1}, "'field' takes a Set or an array; got"),
        (set[Any], SetValue([1, True]), r"'field' takes each item once; got 'field\[1\]' again"),
        (set[Any], [2, 1, True], r"'field' takes each item once; got 'field\[2\]' again"),
        (set[date], SetValue(["2020-01-02", "20200102"]), "'field' takes each item once; got"),
        (set[int], SetValue([1, "x"]), r"'field\[1\]' takes a whole number; got \"x\""),
        (set[list[int]], SetValue([[1]]), r"'field\[0\]' takes a string or a number; got \[1\]"),
        (frozenset[int], MapValue([(1, 1)]), "'field' takes a Set or an array"),
        (list[int], MapValue([(1, 2)]), "'field' takes an array; got"),
        (Literal[1], True, "'field' takes one of 1; got true"),
        (Literal[True], 1, "'field' takes one of true; got 1"),
        (Literal["1"], 1, "'field' takes one of \"1\"; got 1"),
        (Literal[None, 1], False, "'field' takes one of null, 1; got false"),
        (_Level, True, "'field' takes one of 1, 2; got true"),
        (int | None, True, "'field' takes a whole number or null; got true"),
        (int | list[str], {}, "'field' takes a whole number or an array; got {}"),
        (tuple[()], [1], "'field' takes an array of 0; got"),
        (NewType("Id", int), "x", "'field' takes a whole number"),
        (list[_Bound], ["x"], r"'field\[0\]' takes a whole number"),
        (_Loose, {"size": 1}, "'field' takes an object with the field 'name'"),
        (_Loose, {"name": "a", "inner": [{}]}, r"'field.inner\[0\]' takes an object with"),
        (str, ["x" * 100], r"'field' takes a string; got \[\"x{50,}\.\.\."),
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
    assert Signature.of(_today, "w.today", skip="context").bind(value, JAVASCRIPT) == bound


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Oslo", r"w.today takes one object, as in w.today\(\{city, days\?\}\)"),
        ([], "takes one object"),
        (None, "needs the field 'city'"),
        (UNDEFINED, "needs the field 'city'"),
        ({"city": UNDEFINED}, "needs the field 'city'"),
        ({"town": "Oslo"}, r"has no field 'town'; call it as w.today\(\{city, days\?\}\)"),
        ({"city": "Oslo", "context": 1}, "has no field 'context'"),
        ({"city": "Oslo", "__proto__": 1}, "has no field '__proto__'"),
    ],
)
def test_wrong_objects_are_refused(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Signature.of(_today, "w.today", skip="context").bind(value, JAVASCRIPT)


def test_var_keyword_takes_any_field_of_its_annotation() -> None:
    def any_field(one: str = "", **fields: int) -> None: ...

    signature = Signature.of(any_field, "f", skip="context")
    assert signature.bind({"a b": 1.0, "one": "x"}, JAVASCRIPT) == {"a b": 1, "one": "x"}
    with pytest.raises(TypeError, match="field 'a' takes a whole number"):
        signature.bind({"a": "x"}, JAVASCRIPT)


def test_a_call_has_a_bounded_number_of_fields() -> None:
    def any_field(**fields: Any) -> None: ...

    signature, given = (
        Signature.of(any_field, "f", skip="context"),
        dict.fromkeys(map(str, range(10_000)), 1),
    )
    assert signature.bind(given, JAVASCRIPT) == given
    with pytest.raises(TypeError, match="f takes at most 10000 fields; put them in one of them"):
        signature.bind({**given, "x": 1}, JAVASCRIPT)


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


def test_unknown_annotations_are_reported_when_the_bridge_is_made() -> None:
    def function(field: Nowhere) -> None: ...  # noqa: F821

    with pytest.raises(BridgeError, match=r"cannot read its signature.*Nowhere"):
        Signature.of(function, "kit.f", skip="context")


class _Options(TypedDict, total=False):
    deep: bool
    name: Required[str]


def test_values_that_cannot_be_shown_are_refused_too() -> None:
    with pytest.raises(TypeError, match="'field' takes a string; got a value of type int"):
        _bind(str, 10**5000)


def test_var_keyword_of_a_typed_dict_has_its_fields() -> None:
    def walk(**options: Unpack[_Options]) -> None: ...

    signature = Signature.of(walk, "walk", skip="context")
    assert signature.bind({"name": "a"}, JAVASCRIPT) == {"name": "a"}
    for value, message in (
        ({"deep": True}, "walk needs the field 'name'; call it as walk"),
        ({"name": "a", "deep": 1}, "field 'deep' takes true or false; got 1"),
        ({"name": "a", "far": 1}, "walk has no field 'far'"),
    ):
        with pytest.raises(TypeError, match=message):
            signature.bind(value, JAVASCRIPT)


def test_a_default_of_none_accepts_none() -> None:
    def find(most: int = None, text: str = "") -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    signature = Signature.of(find, "find", skip="context")
    assert signature.bind({"most": None}, JAVASCRIPT) == {"most": None}
    with pytest.raises(TypeError, match="field 'text' takes a string; got null"):
        signature.bind({"text": None}, JAVASCRIPT)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new syntax of Python 3.12")
def test_type_aliases_and_type_parameters_are_followed() -> None:
    made: dict[str, Any] = {}
    source = """
type Id = int
type Tree[T] = dict[str, Tree[T]] | T
type Pair[A, B] = tuple[A, B]
def find[T: int](id: Id, tree: Tree[int], pair: Pair[Id, str], rest: list[T]): ...
"""
    exec(source, made)
    signature = Signature.of(made["find"], "find", skip="context")
    given = {"id": 1.0, "tree": {"a": {"b": 2}, "c": 3}, "pair": [1, "a"], "rest": [1.0]}
    bound = {"id": 1, "tree": {"a": {"b": 2}, "c": 3}, "pair": (1, "a"), "rest": [1]}
    assert signature.bind(given, JAVASCRIPT) == bound
    wrong = {"id": "x", "tree": {"a": {"b": "x"}}, "pair": [1, 2], "rest": ["x"]}
    for name, value in wrong.items():
        with pytest.raises(TypeError, match=f"field '{name}"):
            signature.bind({**given, name: value}, JAVASCRIPT)


@pytest.mark.parametrize(
    ("language", "messages"),
    [
        (
            PYTHON,
            [
                "f: field 'on' takes True or False or None; got 1",
                "f: field 'rows' takes a list; got {'a': True}",
                "f has no field 'x'; call it as f(*, on=…, rows=…); "
                "on takes True or False or None, rows takes a list",
                "f takes arguments by name, as in f(*, on=…, rows=…); "
                "on takes True or False or None, rows takes a list",
            ],
        ),
        (
            GuestLanguage(name="unknown"),
            [
                "f: field 'on' takes bool or NoneType; got 1",
                "f: field 'rows' takes list; got {\"a\": true}",
                "f has no field 'x'; call it as f([on], [rows])",
                "f takes named arguments, as in f([on], [rows])",
            ],
        ),
    ],
    ids=["python", "unknown"],
)
def test_messages_are_in_the_words_of_the_guests_language(
    language: GuestLanguage, messages: list[str]
) -> None:
    def function(on: bool | None = None, rows: Sequence[int] = ()) -> None: ...

    signature = Signature.of(function, "f", skip="context")
    for value, message in zip(
        ({"on": 1}, {"rows": {"a": True}}, {"x": 1}, [1]), messages, strict=True
    ):
        with pytest.raises(TypeError) as raised:
            signature.bind(value, language)
        assert str(raised.value) == message


# -- any annotation ------------------------------------------------------------------------------

_Kind = tuple[Any, st.SearchStrategy[Any]]

_KEYS: list[_Kind] = [
    (str, st.text(max_size=5)),
    (int, st.integers()),
    (float, st.floats(allow_nan=False)),
    (bool, st.booleans()),
    (date, st.dates()),
    (datetime, st.datetimes(timezones=st.none() | st.just(UTC))),
    (time, st.times()),
    (UUID, st.uuids()),
    (Decimal, st.decimals(allow_nan=False)),
    (_Level, st.sampled_from(_Level)),
    (Literal[1, "a", True, None], st.sampled_from([1, "a", True, None])),
]
_LEAVES: list[_Kind] = [*_KEYS, (bytes, st.binary(max_size=5)), (None, st.none())]


def _containers(inner: st.SearchStrategy[_Kind]) -> st.SearchStrategy[_Kind]:
    keys = st.sampled_from(_KEYS)
    pairs = st.tuples(keys, inner)
    return st.one_of(
        inner.map(lambda kind: (list[kind[0]], st.lists(kind[1], max_size=3))),  # type: ignore[name-defined]
        inner.map(lambda kind: (Union[kind[0], None], kind[1] | st.none())),  # noqa: UP007
        keys.map(lambda kind: (set[kind[0]], st.sets(kind[1], max_size=3))),  # type: ignore[name-defined]
        keys.map(lambda kind: (frozenset[kind[0]], st.frozensets(kind[1], max_size=3))),  # type: ignore[name-defined]
        pairs.map(lambda two: (tuple[two[0][0], two[1][0]], st.tuples(two[0][1], two[1][1]))),
        pairs.map(
            lambda two: (
                dict[two[0][0], two[1][0]],  # type: ignore[name-defined]
                st.dictionaries(two[0][1], two[1][1], max_size=3),
            )
        ),
    )


_kinds = st.recursive(st.sampled_from(_LEAVES), _containers, max_leaves=6)


def _crossed(value: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value, simplify=simplified))))


def _typed(value: Any) -> Any:
    """A value with the types of all that is in it: `1`, `1.0` and `True` are equal."""
    if isinstance(value, dict):
        return dict, [(_typed(key), _typed(item)) for key, item in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), {_typed(item) for item in value}
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(_typed, value))
    return type(value) if not isinstance(value, int) else isinstance(value, bool), value


@settings(deadline=None)
@given(st.data())
def test_a_value_comes_back_as_its_annotation_says(data: st.DataObject) -> None:
    annotation, values = data.draw(_kinds)
    value = data.draw(values)
    assert _typed(_bind(annotation, _crossed(value))) == _typed(value)


@settings(deadline=None)
@given(st.dictionaries(st.integers() | st.booleans(), st.integers(), max_size=4))
def test_keys_of_an_object_are_spelt(table: dict[Any, int]) -> None:
    spelt = {json.dumps(key): value for key, value in table.items()}
    short = {key: value for key, value in spelt.items() if len(key) < 17}
    assert _bind(dict[int | bool, int], short) == {json.loads(k): v for k, v in short.items()}


@settings(deadline=None)
@given(st.data())
def test_any_other_value_is_refused_with_a_type_error_alone(data: st.DataObject) -> None:
    annotation, _ = data.draw(_kinds)
    _, others = data.draw(_kinds)
    value = _crossed(data.draw(others))
    text = ""
    try:
        bound = _bind(annotation, value)
    except TypeError as error:
        text = str(error)
    assert text == "" or text.startswith("kit.f: field 'field")
    if not text:
        assert _typed(_bind(annotation, _crossed(bound))) == _typed(bound)
