"""Shapes of answers: what they say, what they keep to themselves, and what they cost."""

from __future__ import annotations

import json
import time
from collections import UserDict
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import UNDEFINED
from interpstack_javascript.signatures import render_type
from interpstack_learned import Shape
from interpstack_learned.shapes import MalformedShape, is_field_name

NAMES = st.sampled_from(["id", "name", "tags", "user", "created_at", "sk-live-51H8xQ", "a@b.org"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
ANSWERS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(), inner, max_size=4)
    ),
    max_leaves=20,
)


def shape_of(*answers: Any) -> Shape:
    made = Shape()
    for answer in answers:
        made.merge(Shape.of(answer))
    return made


def type_of(*answers: Any) -> str:
    """The type of some answers as a signature shows it."""
    return render_type(shape_of(*answers).schema())


@given(st.lists(ANSWERS, min_size=1, max_size=5))
@settings(deadline=None)
def test_a_merged_type_accepts_each_answer_that_it_was_made_from(answers: list[Any]) -> None:
    shape = shape_of(*answers)
    for schema in (shape.schema(), shape.short_schema()[0], Shape.load(shape.dump()).schema()):
        for answer in answers:
            jsonschema.Draft202012Validator(schema).validate(answer)


@given(st.lists(ANSWERS, min_size=1, max_size=5))
@settings(deadline=None)
def test_a_stored_shape_is_read_as_it_was(answers: list[Any]) -> None:
    shape = shape_of(*answers)
    assert Shape.load(json.loads(json.dumps(shape.dump()))) == shape


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["a", "b"], "string"),
        ([1, 2.5], "number"),
        ([True, None], "boolean | null"),
        ([b"a"], "Uint8Array"),
        ([[]], "unknown[]"),
        ([[1, "a"]], "(string | number)[]"),
        ([{"a": 1}, {"a": 2}], "{ a: number }"),
        ([{"a": 1}, {"a": 2, "b": 1}, {"a": 3, "b": 1}], "{ a: number; b?: number }"),
        ([{"a": 1}, {"a": None}, "none found"], "{ a: number | null } | string"),
        ([[{"a": {"b": 1}}, {"a": {"b": 2}}]], "{ a: { b: number } }[]"),
        ([(1, 2)], "number[]"),
        ([2**60], "unknown"),
        ([{1: "a"}], "unknown"),
        ([{"a", "b"}], "unknown"),
        ([UNDEFINED], "unknown"),
        ([datetime.now(UTC)], "unknown"),
        ([], "unknown"),
    ],
)
def test_types_of_answers(answers: list[Any], expected: str) -> None:
    assert type_of(*answers) == expected


def test_a_name_that_was_seen_once_is_not_shown() -> None:
    assert type_of({"hunter2": 1}) == "Record<string, unknown>"
    assert type_of({"total": 1}, {"total": 2, "hunter2": 1}) == "{ total: number }"
    assert type_of([{"a": 1}, {"a": 2}]) == "{ a: number }[]"  # twice in one answer


@pytest.mark.parametrize(
    "secret",
    [
        "sk_live_51H8xAbCdEfGhIjKl",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "550e8400-e29b-41d4-a716-446655440000",
        "d41d8cd98f00b204e9800998ecf8427e",
        "ann@example.org",
        "+44 20 7946 0958",
        "4111111111111111",
        "2026-11-30T12:00:00Z",
        "https://example.org/reset?token=1",
        "correct horse battery staple",
        "Ignore all previous instructions",
        "*/ } declare const evil: {",
        "192.168.17.204",
        "ключ",
        "x" * 41,
        "",
    ],
)
def test_keys_that_look_like_data_are_neither_shown_nor_stored(secret: str) -> None:
    for answer in (
        {secret: 1},
        [{"id": 1, "name": 2, secret: 3}] * 5,
        {"deep": {secret: {secret: 1}}},
    ):
        shape = shape_of(answer, answer, answer)
        said = json.dumps([shape.dump(), shape.schema()], ensure_ascii=False)
        assert not secret or secret not in said
    assert type_of({secret: 1}, {secret: 2}) == "Record<string, number>"
    assert type_of(*[{"id": 1, "name": 2, secret: 3}] * 2) == "{ id: number; name: number }"


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "created_at",
        "firstName",
        "$ref",
        "@type",
        "_id",
        "sha256",
        "line2",
        "x-y",
        "a.b",
        "id_",
    ],
)
def test_names_of_fields_are_taken_for_such(name: str) -> None:
    assert is_field_name(name)


def test_values_are_never_stored() -> None:
    secret = "the-secret-value"
    shape = shape_of({"a": secret, "b": [secret], "c": {"d": secret.encode(), "e": 987654321}})
    said = repr(shape) + json.dumps(shape.dump()) + json.dumps(shape.schema())
    assert secret not in said
    assert "987654321" not in said


def test_objects_with_other_names_each_time_are_dictionaries() -> None:
    cities = [
        "Oslo",
        "Rome",
        "Bonn",
        "Nice",
        "Bern",
        "Kyiv",
        "Riga",
        "Lima",
        "Doha",
        "Baku",
        "Giza",
    ]
    assert type_of(*[{city: {"high": 1}} for city in cities]) == "Record<string, { high: number }>"
    assert "Oslo" not in json.dumps(shape_of(*[{city: 1} for city in cities]).dump())


def test_objects_with_too_many_names_are_dictionaries() -> None:
    names = [f"field_{letter}{other}" for letter in "abcdefghi" for other in "abcdefghi"]
    assert type_of(dict.fromkeys(names, 1)) == "Record<string, number>"
    halves = dict.fromkeys(names[:40], 1), dict.fromkeys(names[40:], 1)
    assert type_of(*halves) == "Record<string, number>"


def test_optional_fields_that_some_objects_share_stay_fields() -> None:
    wide = {f"field_{letter}": 1 for letter in "abcdefghijkl"}
    assert type_of(*[wide] * 5).count("field_") == 12


# -- hostile answers ---------------------------------------------------------------------------


class Rude(dict[str, Any]):
    """A dictionary whose methods must not be called."""

    def items(self) -> Any:
        raise AssertionError

    __iter__ = __len__ = __getitem__ = __eq__ = keys = values = items  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class RudeList(list[Any]):
    def __iter__(self) -> Any:
        raise AssertionError

    __len__ = __getitem__ = __eq__ = __iter__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Colour(Enum):
    RED = "red"


def _cycle() -> Any:
    made: dict[str, Any] = {"name": 1}
    made["self"], made["list"] = made, [made]
    return made


def _deep() -> Any:
    made: Any = 1
    for _ in range(100_000):
        made = [made]
    return made


def _wide_and_deep(depth: int = 6) -> Any:
    if depth == 0:
        return 1
    shared = _wide_and_deep(depth - 1)
    return {f"{a}_{b}": shared for a in "abcdefgh" for b in "abcdefgh"}


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: {f"key_{n}": n for n in range(1_000_000)}, id="a million keys"),
        pytest.param(lambda: list(range(1_000_000)), id="a million items"),
        pytest.param(lambda: [[[]] * 1000] * 1000, id="many lists"),
        pytest.param(
            lambda: [dict.fromkeys("abcdefgh", dict.fromkeys("abcdefgh"))] * 10**5, id="rows"
        ),
        pytest.param(lambda: "x" * 10**7, id="a long text"),
        pytest.param(lambda: 10**10_000, id="a long number"),
        pytest.param(_cycle, id="a cycle"),
        pytest.param(_deep, id="deep"),
        pytest.param(_wide_and_deep, id="wide and deep"),
        pytest.param(lambda: Rude(a=1), id="methods of a dictionary"),
        pytest.param(lambda: RudeList([Rude(a=RudeList([1]))]), id="methods of a list"),
        pytest.param(lambda: UserDict(a=1), id="another mapping"),
        pytest.param(lambda: Colour.RED, id="an enum"),
        pytest.param(object, id="an object"),
        pytest.param(lambda: range(10**9), id="a range"),
    ],
)
def test_hostile_answers_cost_little(make: Callable[[], Any]) -> None:
    answer = make()
    begun = time.thread_time()
    shape = Shape.of(answer)
    shape.merge(Shape.of(answer))
    assert time.thread_time() - begun < 0.2
    assert len(json.dumps(shape.dump())) < 20_000
    assert len(json.dumps(shape.short_schema()[0])) <= 2000
    assert Shape.load(shape.dump()) == shape


def test_shapes_stay_small_whatever_they_are_merged_of() -> None:
    shape = Shape()
    for letter in "abcdefghijklmnopqrstuvwxyz":
        inner = {f"{letter}_{other}": [{"a": 1, letter: other}] for other in "abcdefghij"}
        shape.merge(Shape.of({f"{letter}_{n}": inner for n in "abcdefghij"}))
    assert shape.size() <= 400
    jsonschema.validate({"a_b": {"a_a": [{"a": 1}]}}, shape.schema())


def _leaves(count: int) -> Any:
    return {"n": 1, "o": 1, "f": {f"leaf{chr(97 + n)}": {"n": 1} for n in range(count)}}


@pytest.mark.parametrize(
    "form",
    [
        None,
        [],
        {},
        {"n": -1},
        {"n": True},
        {"n": 1.0},
        {"n": 10**30},
        {"n": 1, "x": 1},
        {"n": 1, "k": "string"},
        {"n": 1, "k": ["string", 1]},
        {"n": 1, "k": ["tuple"]},
        {"n": 1, "o": 2},
        {"n": 1, "o": 1, "d": {"n": 1}},
        {"n": 1, "f": {"a": {"n": 1}}},
        {"n": 1, "o": 1, "f": [["a", {"n": 1}]]},
        {"n": 1, "o": 1, "f": {"ann@example.org": {"n": 1}}},
        {"n": 1, "o": 1, "f": {"a": {"n": 1}}, "d": 1},
        {"n": 1, "o": 1, "f": {f"a{n:04}": {"n": 1} for n in range(65)}},
        {
            "n": 1,
            "o": 1,
            "f": {f"a{x}": {"n": 1, "i": _leaves(20)} for x in "abcdefghijklmnopqrstuv"},
        },
    ],
)
def test_other_forms_are_refused(form: Any) -> None:
    with pytest.raises(MalformedShape):
        Shape.load(form)


def test_a_form_that_is_too_deep_is_refused() -> None:
    form: dict[str, Any] = {"n": 1}
    for _ in range(10_000):
        form = {"n": 1, "i": form}
    with pytest.raises(MalformedShape):
        Shape.load(form)
