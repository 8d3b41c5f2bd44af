"""Fields that a tool does not have: named, and never dropped."""

from __future__ import annotations

from typing import Any, Final

import pytest
from pydantic import BaseModel

from interpstack_agents.tool_fields import unknown_field

TEXT: dict[str, Any] = {"type": "string"}
PLACE: dict[str, Any] = {"type": "object", "properties": {"city": TEXT, "zip": TEXT}}
SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "q": TEXT,
        "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
        "pair": {"type": "array", "prefixItems": [TEXT, PLACE]},
        "tree": {"$ref": "#/$defs/Tree"},
        "free": {"type": "object"},
        "any": {},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "either": {"oneOf": [PLACE, {"type": "object", "properties": {"point": TEXT}}]},
        "whole": {"allOf": [PLACE, {"type": "object", "properties": {"name": TEXT}}]},
    },
    "$defs": {
        "Place": PLACE,
        "Tree": {
            "type": "object",
            "properties": {"child": {"$ref": "#/$defs/Tree"}, "name": TEXT},
        },
    },
}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": 1}, "has no field 'query'; its fields are: q, place, stops, pair, tree, free,"),
        ({"place": {"town": 1}}, "has no field 'place.town'; the fields of place are: city, zip"),
        ({"stops": [{}, {"x": 1}]}, "has no field 'stops[1].x'; the fields of stops[1] are: city"),
        ({"pair": ["a", {"x": 1}]}, "has no field 'pair[1].x'; the fields of pair[1] are: city"),
        (
            {"tree": {"child": {"nam": 1}}},
            "has no field 'tree.child.nam'; the fields of tree.child",
        ),
        (
            {"either": {"x": 1}},
            "has no field 'either.x'; the fields of either are: city, zip, point",
        ),
        ({"whole": {"x": 1}}, "has no field 'whole.x'; the fields of whole are: city, zip, name"),
    ],
    ids=str,
)
def test_an_unknown_field_is_named_with_the_fields_there_are(given: Any, words: str) -> None:
    assert unknown_field(SEARCH, given).startswith(words)


def test_fields_of_alternatives_are_listed_beside_the_tools_own_list() -> None:
    by = [{"properties": {name: TEXT}, "required": [name]} for name in ("id", "name")]
    schema = {"type": "object", "properties": {"limit": {"type": "integer"}}, "oneOf": by}
    own = "limit?: number"
    fault = unknown_field(schema, {"titel": "x"}, own)
    assert fault == "has no field 'titel'; its fields are: limit?: number, id, name"
    assert unknown_field({**schema, "oneOf": []}, {"id": "x"}, own).endswith(": limit?: number")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"q": "a", "place": None},
        {"free": {"x": {"y": 1}}, "any": {"x": 1}, "labels": {"x": "a"}},
        {"place": {"city": "Oslo"}, "stops": [{"zip": "1"}], "tree": {"child": {"name": "a"}}},
        {"either": {"city": "a"}, "whole": {"city": "a", "name": "b"}},
        {"q": {"wrong": "type"}},
    ],
    ids=str,
)
def test_known_fields_and_open_objects_pass(given: Any) -> None:
    assert unknown_field(SEARCH, given) == ""


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": True},
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT},
        {"type": "object", "properties": {"a": TEXT}, "patternProperties": {"^x": TEXT}},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"anyOf": [PLACE, {"type": "object"}]},
        {"anyOf": [PLACE, True]},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#"},
    ],
    ids=str,
)
def test_a_schema_that_takes_more_fields_refuses_none(schema: Any) -> None:
    assert unknown_field(schema, {"x": 1}) == ""


MAP: dict[str, Any] = {"type": "object", "additionalProperties": PLACE}


@pytest.mark.parametrize(
    ("schema", "given", "words"),
    [
        (MAP, {"home": {"town": 1}}, "home.town'; the fields of home are: city, zip"),
        ({"properties": {"by": MAP}}, {"by": {"a": {}, "b": {"x": 1}}}, "by.b.x'; the fields of"),
        ({"properties": {"a": TEXT}, **MAP}, {"a": "x", "b": {"town": 1}}, "b.town'; the fields"),
        ({"anyOf": [MAP, {"type": "null"}]}, {"home": {"town": 1}}, "home.town'; the fields of"),
        ({"type": "object", "additionalProperties": False}, {"x": 1}, "x'; it takes no fields"),
    ],
    ids=str,
)
def test_objects_under_names_of_the_caller_are_searched(
    schema: Any, given: Any, words: str
) -> None:
    assert unknown_field(schema, given).startswith(f"has no field '{words}")


@pytest.mark.parametrize(
    "schema",
    [
        {**MAP, "patternProperties": {"^h": {"type": "object"}}},
        {"anyOf": [MAP, {"type": "object"}]},
        {"type": "object", "additionalProperties": {}},
        {"type": "object", "additionalProperties": {"type": "object"}},
    ],
    ids=str,
)
def test_objects_under_such_names_may_be_open(schema: Any) -> None:
    assert unknown_field(schema, {"home": {"town": {"x": 1}}}) == ""


def _tagged(*, key: str = "type") -> dict[str, Any]:
    cat = {"type": "object", "properties": {key: {"const": "cat"}, "lives": {}}}
    dog = {"type": "object", "properties": {key: {"enum": ["dog", "wolf"]}, "good": {}}}
    return {
        "properties": {"pet": {"oneOf": [{"$ref": "#/$defs/Cat"}, dog, {"type": "null"}]}},
        "$defs": {"Cat": cat},
    }


def test_a_field_of_an_alternative_with_another_tag_is_unknown() -> None:
    schema = _tagged()
    for given in ({"type": "wolf", "good": 1}, {"type": "cat", "lives": 1}, {"lives": 1}):
        assert unknown_field(schema, {"pet": given}) == ""
    words = "has no field 'pet.lives'; the fields of pet are: type, good"
    assert unknown_field(schema, {"pet": {"type": "dog", "lives": 2}}) == words
    words = "has no field 'pet.good'; the fields of pet are: type, lives"
    assert unknown_field(schema, {"pet": {"type": "cat", "good": 2}}) == words


def test_a_tag_of_no_alternative_is_left_to_the_tool() -> None:
    assert unknown_field(_tagged(), {"pet": {"type": "bird", "lives": 2}}) == ""
    with_fields = {"anyOf": _tagged()["properties"]["pet"]["oneOf"][:2], **_tagged()}
    assert unknown_field(with_fields, {"type": "bird", "lives": 2, "pet": None}) == ""


class _Card(BaseModel):
    number: int
    owner: str = ""


class _Account(BaseModel):
    iban: str
    owner: str = ""
    memo: str = ""


class _Inner(BaseModel):
    card: _Card
    note: str = ""


class _Other(BaseModel):
    card: _Account
    note: str = ""


class _Node(BaseModel):
    left: _Node | _Leaf | None = None
    right: _Node | _Leaf | None = None


class _Leaf(BaseModel):
    left: _Node | _Leaf | None = None
    value: int = 0


class _Pay(BaseModel):
    by: _Card | _Account | None = None
    each: list[_Card | _Account] = []
    named: dict[str, _Card | _Account] = {}
    inside: _Inner | _Other | str | None = None
    open: _Card | dict[str, int] | None = None
    tree: _Node | _Leaf | None = None


_PAY: Final = _Pay.model_json_schema()
_CARD: Final = {"number": 5, "owner": "Ann"}
_ACCOUNT: Final = {"iban": "DE", "memo": "m"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"by": {**_CARD, "memo": "m"}}, "by.memo'; the fields of by are: number, owner"),
        ({"by": {**_CARD, "iban": "DE"}}, "by.iban'; the fields of by are: number, owner"),
        (
            {"by": {"number": "x", **_ACCOUNT}},
            "by.number'; the fields of by are: iban, owner, memo",
        ),
        ({"each": [_CARD, {**_ACCOUNT, "number": 5}]}, "each[1].number'; the fields of each[1]"),
        ({"named": {"a": {**_CARD, "memo": ""}}}, "named.a.memo'; the fields of named.a are"),
        (
            {"inside": {"card": {**_CARD, "memo": ""}}},
            "inside.card.memo'; the fields of inside.card",
        ),
        ({"tree": {"left": {"left": {"right": {}, "value": 1}}}}, "tree.left.left.value'; the"),
    ],
    ids=str,
)
def test_a_field_of_another_model_of_a_union_is_unknown(given: Any, words: str) -> None:
    _Pay.model_validate(given)  # and drops the field
    assert unknown_field(_PAY, given).startswith(f"has no field '{words}")


@pytest.mark.parametrize(
    "given",
    [
        {"by": _CARD},
        {"by": _ACCOUNT},
        {"by": {**_CARD, "number": "5"}},
        {"by": {"owner": "Ann"}},
        {"by": None, "each": [_CARD, _ACCOUNT], "named": {"a": _CARD, "b": _ACCOUNT}},
        {"inside": {"card": _ACCOUNT, "note": "n"}},
        {"inside": "text", "open": {"number": 1, "more": 2}},
        {"tree": {"left": {"value": 1, "left": {"right": {"value": 2}}}}},
    ],
    ids=str,
)
def test_the_fields_of_one_model_of_a_union_are_known(given: Any) -> None:
    assert unknown_field(_PAY, given) == ""


def test_a_deep_object_of_a_union_that_contains_itself_costs_little() -> None:
    tree: dict[str, Any] = {"value": 1, "right": {}}
    for _ in range(60):
        tree = {"left": tree}
    assert "has no field" in unknown_field(_PAY, {"tree": tree})


def test_alternatives_that_say_which_fields_are_required_are_no_union() -> None:
    schema = {
        "type": "object",
        "anyOf": [{"properties": {name: TEXT}, "required": [name]} for name in "ab"],
    }
    assert unknown_field(schema, {"a": "x", "b": "y"}) == ""
    assert unknown_field({"properties": {"by": schema}}, {"by": {"a": "x", "b": "y"}}) == ""


def test_a_tool_without_fields_takes_none() -> None:
    schema = {"type": "object", "properties": {}}
    assert unknown_field(schema, {"x": 1}) == "has no field 'x'; it takes no fields"
    assert unknown_field(schema, {}) == ""


@pytest.mark.parametrize("properties", [{}, {"a": TEXT}])
def test_a_field_that_is_required_but_not_described_is_known(properties: Any) -> None:
    schema = {"type": "object", "properties": properties, "required": ["x"]}
    assert unknown_field(schema, {"x": 1}) == ""
    assert unknown_field(schema, {"x": 1, "y": 1}).startswith("has no field 'y'")


def test_a_schema_that_refers_to_itself_without_end_costs_little() -> None:
    inner = {"anyOf": [{"$ref": f"#/$defs/{n}"} for n in range(300)], "properties": {"a": TEXT}}
    schema = {"$ref": "#/$defs/0", "$defs": {str(n): {**inner, "title": n} for n in range(300)}}
    assert unknown_field(schema, {"x": 1}) == ""
    schema["$defs"] = {"0": {"anyOf": [{"$ref": "#/$defs/0"}], "properties": {"a": TEXT}}}
    assert unknown_field(schema, {"x": 1}).startswith("has no field 'x'")


@pytest.mark.parametrize("keyword", ["dependentSchemas", "dependencies"])
def test_a_field_of_a_dependent_schema_is_known(keyword: str) -> None:
    schema = {
        "type": "object",
        "properties": {"card": TEXT, "other": TEXT},
        keyword: {"card": {"properties": {"billing": TEXT}}},
    }
    assert unknown_field(schema, {"card": "1", "billing": "x"}) == ""
    assert unknown_field(schema, {"card": "1", "biling": "x"}).startswith("has no field 'biling'")
    lists = {"dependencies": {"card": ["other"]}}
    assert unknown_field({**schema, **lists}, {"x": 1}).startswith("has no field 'x'")
