"""Tests of interpstack_schemas.walk, on a language of the shortest types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from interpstack_schemas.walk import Compound, SchemaWalk, needed, one_line, says_nothing


class Short(SchemaWalk):
    """Types of one letter; compounds in parentheses where they are parts."""

    anything = "any"
    nothing = "never"
    binary = "bytes"
    scalars: ClassVar[Mapping[str, str]] = {"string": "s", "integer": "i", "null": "null"}

    def literal(self, value: Any) -> str:
        return f"={value}"

    def array(self, items: Any, fixed: list[Any] | None, depth: int) -> str:
        first = [self.render(one, depth + 1) for one in fixed or []]
        inner = self.render(items, depth + 1)
        parts = [f"({one})" if isinstance(one, Compound) else one for one in [*first, inner]]
        return f"[{', '.join(parts)}]"

    def fields(self, schema: Mapping[str, Any], depth: int) -> str:
        must = needed(schema)
        shown = [
            f"{name}{'' if name in must else '?'}: {self.render(one, depth + 1)}"
            for name, one in schema["properties"].items()
        ]
        return f"{{{', '.join(shown)}}}"

    def mapping(self, value: str) -> str:
        return f"map {value}"

    def intersection(self, parts: list[str]) -> str:
        return " & ".join(parts)


def rendered(schema: Any, root: Any = None, gives: bool = False) -> str:
    return Short(schema if root is None else root, gives).render(schema, 0)


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, "s"),
        ({"type": "unheard"}, "any"),
        ({"type": 5}, "any"),
        ({}, "any"),
        (True, "any"),
        (False, "never"),
        (None, "any"),
        ("text", "any"),
        ({"const": 5, "type": "string"}, "=5"),
        ({"enum": [1, 2, 1]}, "=1 | =2"),
        ({"enum": []}, "never"),
        ({"type": ["string", "null"]}, "s | null"),
        ({"type": []}, "never"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "s | i"),
        ({"oneOf": [{"type": "string"}, {}]}, "any"),
        ({"anyOf": [{"type": "string"}, False]}, "s"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "s & i"),
        ({"anyOf": [{"type": "string"}], "oneOf": [{"type": "integer"}]}, "s & i"),
        ({"type": "string", "allOf": [{}]}, "s"),
        ({"type": "object", "allOf": [{"type": "string"}]}, "s"),
        ({"properties": {"a": {}}, "allOf": [{"type": "string"}]}, "{a?: any} & s"),
        ({"type": "array"}, "[any]"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "[(s | null)]"),
        ({"prefixItems": [{"type": "string"}], "items": False}, "[s, never]"),
        ({"type": "array", "items": [{"type": "string"}]}, "[s, never]"),
        ({"type": "array", "prefixItems": []}, "[any]"),
        ({"type": "object"}, "map any"),
        ({"type": "object", "properties": {}}, "map any"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "map s"),
        ({"type": "object", "additionalProperties": False}, "map any"),
        (
            {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
            "{a: s, b?: i}",
        ),
    ],
)
def test_every_schema_has_a_type(schema: Any, shown: str) -> None:
    assert rendered(schema) == shown


def test_binary_texts_are_bytes_where_a_tool_gives_them() -> None:
    schema = {"type": "string", "format": "binary"}
    assert (rendered(schema), rendered(schema, gives=True)) == ("s", "bytes")


ROOT = {
    "$defs": {
        "a/b": {"type": "string"},
        "m~n": {"type": "integer"},
        "tree": {"properties": {"next": {"$ref": "#/$defs/tree"}}},
        "list": [{"type": "integer"}],
        "alias": {"$ref": "#/$defs/a~1b"},
    }
}


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        ("#/$defs/a~1b", "s"),
        ("#/%24defs/m~0n", "i"),
        ("#/$defs/list/0", "i"),
        ("#/$defs/alias", "s"),
        ("#/$defs/tree", "{next?: any}"),
        ("#/$defs/list/7", "any"),
        ("#/$defs/list/x", "any"),
        ("#/$defs/list/9999999", "any"),
        ("#/$defs/gone", "any"),
        ("#/$defs/a~1b/deeper", "any"),
        ("other.json#/a", "any"),
    ],
)
def test_references_are_looked_up_in_the_root(reference: str, shown: str) -> None:
    assert rendered({"$ref": reference}, ROOT) == shown


def test_the_target_of_a_reference_is_the_schema_at_its_end() -> None:
    walk = Short(ROOT)
    assert walk.target({"$ref": "#/$defs/alias"}) == {"type": "string"}
    assert walk.target({"type": "null"}) == {"type": "null"}
    assert walk.target({"$ref": "#/$defs/gone"}) == {}
    assert Short({"a": {"$ref": "#/a"}}).target({"$ref": "#/a"}) == {"$ref": "#/a"}
    assert walk.target(5) == {}


def test_a_schema_may_be_as_deep_as_it_likes() -> None:
    deep: Any = {"type": "string"}
    for _ in range(10_000):
        deep = {"type": "array", "items": deep}
    assert rendered(deep) == "[" * 13 + "any" + "]" * 13


def test_references_that_multiply_come_to_an_end() -> None:
    definitions = {
        f"d{n}": {"properties": {name: {"$ref": f"#/$defs/d{n + 1}"} for name in "abcdefgh"}}
        for n in range(6)
    }
    walk = Short({"$defs": definitions})
    walk.render({"$ref": "#/$defs/d0"}, 0)
    assert walk._nodes < 20_000, "8 to the power of 6 if nothing ends it"


def test_unions_name_each_option_once() -> None:
    walk = Short({})
    assert walk.union(["a", "b", "a"]) == "a | b"
    assert isinstance(walk.union(["a", "b"]), Compound)
    assert not isinstance(walk.union(["a", "never"]), Compound)
    assert (walk.union(["a", "any"]), walk.union(["never"]), walk.union([])) == (
        "any",
        "never",
        "never",
    )


def test_texts_of_schemas_are_put_on_one_line() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert (one_line(None), one_line(["a"])) == ("", "")


def test_required_fields_are_names() -> None:
    assert needed({"required": ["a", 5]}) == {"a", "5"}
    assert needed({"required": "a"}) == needed({}) == frozenset()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (None, True),
        (True, True),
        ({}, True),
        ({"type": "object", "title": "Answer", "properties": {}}, True),
        ({"type": "array", "items": {"type": "array"}}, True),
        ({"type": "object", "additionalProperties": {"type": "array"}}, True),
        (False, False),
        ("object", False),
        ({"type": "string"}, False),
        ({"type": ["object", "null"]}, False),
        ({"type": "object", "properties": {"a": {}}}, False),
        ({"type": "array", "items": {"type": "string"}}, False),
        ({"type": "array", "prefixItems": []}, False),
        ({"type": "object", "additionalProperties": False}, False),
        ({"anyOf": [{}]}, False),
        ({"enum": [1]}, False),
    ],
)
def test_schemas_that_say_nothing_of_a_value(schema: Any, expected: bool) -> None:
    assert says_nothing(schema) is expected


def test_a_schema_that_holds_itself_says_something() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    assert not says_nothing(schema)
