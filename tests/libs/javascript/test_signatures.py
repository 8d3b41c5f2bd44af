"""JSON Schemas as TypeScript: what is rendered always parses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpstack import CellContext, HostTool, LearnedSchema
from interpstack_javascript.signatures import describe_tool, render_type
from interpstack_javascript.typescript import strip_types

TREE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["value"],
        }
    },
}

TABLE: list[tuple[Any, str]] = [
    ({"type": "string"}, "string"),
    ({"type": "integer"}, "number"),
    ({"type": "number"}, "number"),
    ({"type": "boolean"}, "boolean"),
    ({"type": "null"}, "null"),
    ({"type": "nonsense"}, "unknown"),
    ({"type": 7}, "unknown"),
    ({}, "unknown"),
    (True, "unknown"),
    (False, "never"),
    (None, "unknown"),
    ("text", "unknown"),
    ({"const": "a"}, '"a"'),
    ({"const": None}, "null"),
    ({"const": {"a": 1}}, "unknown"),
    ({"enum": ["a", 1, True, None, 1]}, '"a" | 1 | true | null'),
    ({"enum": []}, "never"),
    ({"enum": ["a", [1]]}, "unknown"),
    ({"enum": [-1.5, 1e300]}, "-1.5 | 1e+300"),
    ({"enum": [float("nan")]}, "unknown"),
    ({"type": ["string", "null"]}, "string | null"),
    ({"type": []}, "never"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
    ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "string"),
    ({"anyOf": [{"type": "string"}, {}]}, "unknown"),
    ({"anyOf": [{"type": "string"}, False]}, "string"),
    ({"anyOf": []}, "never"),
    ({"type": "array"}, "unknown[]"),
    ({"type": "array", "items": {"type": "string"}}, "string[]"),
    ({"type": "array", "items": {"type": ["string", "null"]}}, "(string | null)[]"),
    ({"type": "array", "items": {"type": "array", "items": {"enum": [1, 2]}}}, "(1 | 2)[][]"),
    ({"type": "array", "items": {"enum": ["a | b"]}}, '"a | b"[]'),
    ({"type": "array", "items": False}, "never[]"),
    ({"type": "array", "items": [{"type": "string"}, True]}, "[string, unknown]"),
    (
        {
            "properties": {"a": {"const": 1}, "b": {"const": 2}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "{ a?: 1; b?: 2 }",
    ),
    (
        {"properties": {"a": {"const": 1}}, "anyOf": [{"const": 2}, {"const": 3}]},
        "{ a?: 1 } & (2 | 3)",
    ),
    ({"type": "string", "allOf": [{"minLength": 3}]}, "string"),
    (
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
        "[string, number]",
    ),
    (
        {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "number"}},
        "[string, ...number[]]",
    ),
    ({"prefixItems": []}, "unknown[]"),
    ({"type": "object"}, "Record<string, unknown>"),
    ({"type": "object", "additionalProperties": {"type": "number"}}, "Record<string, number>"),
    ({"type": "object", "properties": {}}, "Record<string, unknown>"),
    (
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
        "{ a: string; b?: unknown }",
    ),
    ({"properties": {"a": True}}, "{ a?: unknown }"),
    (
        {"properties": {"a": {"type": "number"}}, "additionalProperties": {"type": "string"}},
        "{ a?: number; [key: string]: unknown }",
    ),
    ({"properties": {"a": {"properties": {"b": {"const": 1}}}}}, "{ a?: { b?: 1 } }"),
    (
        {"properties": {"a-b": {}, "1": {}, '"': {}, "": {}, "ü": {}}},
        '{ "a-b"?: unknown; "1"?: unknown; "\\""?: unknown; ""?: unknown; "\\u00fc"?: unknown }',
    ),
    (
        {"properties": {"a": {"type": "string", "description": "Close */ now\n  twice */"}}},
        "{ /* Close *\\/ now twice *\\/ */ a?: string }",
    ),
    (
        {"properties": {"a": {"type": "number", "default": 5}}},
        "{ /* default: 5 */ a?: number }",
    ),
    (
        {"properties": {"a": {"type": "string", "description": "D.", "default": "*/"}}},
        '{ /* D. default: "*\\/" */ a?: string }',
    ),
    (
        {"properties": {"a": {"type": "array", "default": []}}},
        "{ /* default: [] */ a?: unknown[] }",
    ),
    (
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        "{ a?: unknown } & { b?: unknown }",
    ),
    (
        {"allOf": [{"type": ["string", "null"]}, {"const": "a"}]},
        '(string | null) & "a"',
    ),
    ({"type": "array", "items": {"allOf": [{"const": 1}, {"const": 2}]}}, "(1 & 2)[]"),
    ({"allOf": []}, "unknown"),
    (
        {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}], "$defs": {"A": {"const": 1}}},
        "unknown",
    ),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"const": 1}}}, "1"),
    ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"const": 1}}}, "1"),
    ({"$ref": "#/prefixItems/1", "prefixItems": [{}, {"const": 2}]}, "2"),
    ({"$ref": "#/$defs/A/B", "$defs": {"A": "text"}}, "unknown"),
    ({"$ref": "other.json#/A"}, "unknown"),
    ({"$ref": "#"}, "unknown"),
    (TREE, "{ value: number; children?: unknown[] }"),
]


@pytest.mark.parametrize(("schema", "expected"), TABLE)
def test_schemas_as_types(schema: Any, expected: str) -> None:
    assert render_type(schema) == expected
    assert_parses(f"type T = {expected};")


def assert_parses(source: str) -> None:
    """The engine's own stripper takes it, and nothing of it is left as code."""
    assert strip_types(source + "\nleft();").strip() == "left();"


def test_depth_is_bounded() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5000):
        schema = {"type": "array", "items": schema}
    text = render_type(schema)
    assert text.startswith("unknown[][]")
    assert_parses(f"type T = {text};")


def test_a_schema_that_holds_itself_ends() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["self"] = schema
    schema["properties"]["other"] = {"anyOf": [schema, {"type": "null"}]}
    assert len(render_type(schema)) < 100_000


def test_references_that_multiply_end() -> None:
    levels = {
        f"L{i}": {"properties": {f"p{n}": {"$ref": f"#/$defs/L{i + 1}"} for n in range(20)}}
        for i in range(40)
    }
    schema = {"$ref": "#/$defs/L0", "$defs": levels}
    assert len(render_type(schema)) < 100_000


# -- whole signatures ----------------------------------------------------------------------


def tool(**fields: Any) -> HostTool:
    async def call(given: dict[str, Any], context: CellContext) -> Any:
        return None

    return HostTool(name="t", call=call, **fields)


FIELDS = {"type": "object", "properties": {"q": {"type": "string"}}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "t(): Promise<unknown>"),
        (
            {"learned": LearnedSchema(schema=FIELDS, seen=41)},
            "t(): Promise<{ q?: string }> // seen 41 times",
        ),
        (
            {"learned": LearnedSchema(schema=FIELDS, seen=1, partial=True)},
            "t(): Promise<{ q?: string }> // seen once, there are more fields",
        ),
        (
            {"learned": LearnedSchema(schema={}), "output_schema": {"type": "object"}},
            "t(): Promise<unknown>",
        ),
        ({"input_schema": FIELDS}, "t(input?: { q?: string }): Promise<unknown>"),
        (
            {"input_schema": {**FIELDS, "required": ["q"]}, "output_schema": {"type": "number"}},
            "t(input: { q: string }): Promise<number>",
        ),
        (
            {
                "input_schema": {"properties": {"q": {"type": "string", "format": "binary"}}},
                "output_schema": {"items": {"type": "string", "format": "binary"}, "type": "array"},
            },
            "t(input?: { q?: string }): Promise<Uint8Array[]>",
        ),
        ({"output_schema": {"type": "string", "format": "date-time"}}, "t(): Promise<string>"),
        (
            {"description": "Does */ it.\n\nWell."},
            "/** Does *\\/ it. Well. */\nt(): Promise<unknown>",
        ),
        (
            {"input_schema": {"type": "object", "additionalProperties": {"type": "string"}}},
            "t(input?: Record<string, string>): Promise<unknown>",
        ),
        ({"input_schema": {"type": "object", "properties": {}}}, "t(): Promise<unknown>"),
        (
            {"input_schema": {"$ref": "#/$defs/I", "$defs": {"I": FIELDS}}},
            "t(input?: { q?: string }): Promise<unknown>",
        ),
    ],
)
def test_signatures(fields: dict[str, Any], expected: str) -> None:
    assert describe_tool("t", tool(**fields)) == expected


# -- whatever comes ------------------------------------------------------------------------

text = st.text(max_size=8) | st.sampled_from(["*/", "/*", "//", "`", '"', "\\", "\u2028", "${a}"])
scalar = st.none() | st.booleans() | st.integers() | st.floats() | text
junk = st.recursive(
    scalar, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2)
)
kind = st.sampled_from(
    ["string", "number", "integer", "boolean", "null", "array", "object", "x", "Array<"]
)
reference = (
    st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "x", "#//", ""]) | text
)


def _schema(inner: Any) -> Any:
    keys = st.dictionaries(text | st.sampled_from(["a", "__proto__"]), inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kind | st.lists(kind, max_size=2) | junk,
            "properties": keys | junk,
            "required": st.lists(text | st.just("a"), max_size=2) | junk,
            "additionalProperties": inner | junk,
            "items": inner | junk,
            "prefixItems": st.lists(inner, max_size=3) | junk,
            "anyOf": st.lists(inner, max_size=3) | junk,
            "oneOf": st.lists(inner, max_size=3) | junk,
            "allOf": st.lists(inner, max_size=3) | junk,
            "enum": st.lists(scalar, max_size=3) | junk,
            "const": junk,
            "$ref": reference | junk,
            "$defs": st.fixed_dictionaries({"a": inner, "b": inner}) | junk,
            "description": text | junk,
            "default": junk,
        },
    )


schemas = st.recursive(st.booleans() | _schema(junk), _schema, max_leaves=8)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas)
def test_any_schema_gives_a_type(schema: Any) -> None:
    assert_parses(f"type T = {render_type(schema)};")


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas | st.none(), text)
def test_any_tool_gives_a_signature(given_schema: Any, returned: Any, description: str) -> None:
    made = tool(
        input_schema=given_schema if isinstance(given_schema, dict) else {},
        output_schema=returned if isinstance(returned, dict) else None,
        description=description,
    )
    assert_parses(f"declare const tools: {{\n{describe_tool('t', made)}\n}}")
