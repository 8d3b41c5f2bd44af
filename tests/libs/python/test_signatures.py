"""Signatures in Python, which always compile."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpstack import CellContext, HostTool
from interpstack_python.signatures import describe_tool


async def _echo(given: dict[str, Any], context: CellContext) -> Any:
    return given


def make_tool(name: str, **fields: Any) -> HostTool:
    return HostTool(name=name, call=_echo, **fields)


OBJECT = {"type": "object"}
PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    (OBJECT, ""),
    ({**OBJECT, "additionalProperties": True}, "**fields: Any"),
    ({"anyOf": [{"properties": {"a": {}}}]}, "**fields: Any"),
    ({"properties": {"q": {"type": "string"}}, "required": ["q"]}, "*, q: str"),
    ({"properties": {"n": {"type": "integer", "default": 5}}}, "*, n: int = 5"),
    ({"properties": {"n": {"type": "number"}}}, "*, n: float = ..."),
    ({"properties": {"t": {"type": "string", "default": "a'\n"}}}, '*, t: str = "a\'\\n"'),
    ({"properties": {"t": {"default": "x" * 99}}}, "*, t: Any = ..."),
    ({"properties": {"t": {"default": float("nan")}}}, "*, t: Any = ..."),
    ({"properties": {"t": {"type": "array", "default": []}}}, "*, t: list[Any] = ..."),
    ({"properties": {"a": {"enum": ["x", 1, None]}}}, "*, a: Literal['x', 1] | None = ..."),
    (
        {
            "properties": {
                "a": {"anyOf": [{"const": "x"}, {"enum": [None, "x", "y"]}, {"const": 1}]}
            }
        },
        "*, a: Literal['x', 1] | Literal['x', 'y'] | None = ...",
    ),
    ({"properties": {"a": {"enum": [1.5, 2]}}}, "*, a: float | Literal[2] = ..."),
    ({"properties": {"a": {"const": {"b": 1}}}}, "*, a: Any = ..."),
    ({"properties": {"a": {"type": ["string", "null"]}}}, "*, a: str | None = ..."),
    ({"properties": {"a": {"anyOf": [{"type": "boolean"}, {}]}}}, "*, a: Any = ..."),
    ({"properties": {"a": False}}, "*, a: Never = ..."),
    (
        {"properties": {"a": {"type": "object", "additionalProperties": {"type": "integer"}}}},
        "*, a: dict[str, int] = ...",
    ),
    (
        {"properties": {"a": {"prefixItems": [{"type": "string"}, {"type": "integer"}]}}},
        "*, a: list[str | int] = ...",
    ),
    (
        {"properties": {"a": {"allOf": [{"type": "string"}, {"type": "integer"}]}}},
        "*, a: Any = ...",
    ),
    ({"properties": {"a-b": {}, "class": {}, "c": {}}}, "*, c: Any = ..., **fields: Any"),
    ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "*, a: FA"),
]


@pytest.mark.parametrize(("schema", "parameters"), PARAMETERS)
def test_parameters(schema: dict[str, Any], parameters: str) -> None:
    text = describe_tool("f", make_tool("f", input_schema=schema))
    assert text.splitlines()[-1] == f"async def f({parameters}) -> Any: ..."
    ast.parse(text)


def test_objects_become_classes() -> None:
    page = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What\nit is called"},
            "by": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
        "required": ["title"],
    }
    tool = make_tool(
        "web_search",
        description='Search "the" web.\nNow.',
        input_schema={
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "words to look for"},
                "where": {"type": "object", "properties": {"site": {"type": "string"}}},
            },
            "required": ["query"],
        },
        output_schema={"type": "array", "items": page},
    )
    assert (
        describe_tool("web_search", tool)
        == '''\
class WebSearchWhere(TypedDict):
    site: NotRequired[str]
class WebSearchAnswerBy(TypedDict):
    name: NotRequired[str]
class WebSearchAnswer(TypedDict):
    title: str  # What it is called
    by: NotRequired[WebSearchAnswerBy]
async def web_search(*, query: str, where: WebSearchWhere = ...) -> list[WebSearchAnswer]:
    """Search 'the' web. Now.
    query: words to look for
    """'''
    )


_KEYS = st.sampled_from(["a", "b", "class", "a-b", "", '"""', "#", "é"])
_TEXTS = st.text(st.sampled_from("ab\"'\\#\n\r\x00\u2028{}")) | st.just('"""\nimport os')
_SCHEMAS = st.recursive(
    st.one_of(
        st.booleans(),
        st.none(),
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["string", "integer", "null", "array", "object", 7]),
                "const": _TEXTS | st.integers() | st.floats(),
                "description": _TEXTS,
                "default": _TEXTS | st.integers(),
            },
        ),
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["array", "object"]),
            "items": inner,
            "properties": st.dictionaries(_KEYS, inner, max_size=3),
            "required": st.lists(_KEYS, max_size=2),
            "additionalProperties": inner,
            "anyOf": st.lists(inner, max_size=3),
            "allOf": st.lists(inner, max_size=2),
            "prefixItems": st.lists(inner, max_size=2),
            "$ref": st.sampled_from(["#", "#/items", "#/properties/a"]),
            "enum": st.lists(_TEXTS | st.none() | st.integers(), max_size=3),
            "description": _TEXTS,
        },
    ),
    max_leaves=15,
)
#: A tool takes named fields: its own schema is not `True` or `False`, as those inside it may be.
_INPUTS = _SCHEMAS.map(lambda schema: schema if isinstance(schema, dict) else {})


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(takes=_INPUTS, gives=_SCHEMAS, description=_TEXTS)
def test_signatures_always_compile(takes: Any, gives: Any, description: str) -> None:
    async def call(given: dict[str, Any], context: CellContext) -> Any:
        return given

    tool = HostTool(
        name="f", call=call, description=description, input_schema=takes, output_schema=gives
    )
    *classes, function = ast.parse(describe_tool("f", tool)).body
    assert isinstance(function, ast.AsyncFunctionDef)
    assert len(function.body) == 1
    assert isinstance(function.body[0], ast.Expr)
    assert all(isinstance(node, ast.ClassDef) for node in classes)


def test_bytes_are_bytes_where_a_tool_gives_them() -> None:
    schema = {"type": "string", "format": "binary"}
    tool = make_tool("f", input_schema={"properties": {"a": schema}}, output_schema=schema)
    assert describe_tool("f", tool).startswith("async def f(*, a: str = ...) -> bytes:")


def test_deep_and_wide_schemas_stay_short() -> None:
    deep: Any = {"type": "string"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep, "b": deep}}
    text = describe_tool("f", make_tool("f", input_schema=deep))
    assert len(text) < 5000
    ast.parse(text)
