"""Stand-ins fit the schemas that agents are asked for, and are bounded for all others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack_workflows.agents.answers import AnswerSchema
from interpstack_workflows.runs.reading.stand_ins import stand_in

_FILE = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name", "size"]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "stand-in"),
        ({"type": "string", "minLength": 10, "maxLength": 12}, "stand-in.."),
        ({"type": "string", "maxLength": 3}, "sta"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "number", "exclusiveMinimum": 1.5}, 2.5),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": ["null", "string"]}, None),
        ({"type": "boolean"}, True),
        ({"enum": ["low", "high"]}, "low"),
        ({"const": 7}, 7),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
        ({"prefixItems": [{"const": 1}], "type": "array"}, [1]),
        (_FILE, {"name": "stand-in", "size": "stand-in"}),
        ({"$ref": "#/$defs/f", "$defs": {"f": {"type": "null"}}}, None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 0),
        ({"allOf": [{"required": ["a"]}], "type": "object"}, {"a": "stand-in"}),
        (True, "stand-in"),
    ],
)
async def test_stand_ins_fit(schema: Any, value: Any) -> None:
    assert stand_in(schema) == value
    if schema is not True:
        assert await (await AnswerSchema.read(schema)).faults(value) == []


_words = st.sampled_from(
    (
        *("type", "properties", "items", "minItems", "minLength", "maxLength", "enum", "anyOf"),
        *("allOf", "$ref", "required", "prefixItems", "minimum", "maximum", "object", "array", "x"),
    )
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=20,
)


@given(_json)
def test_no_schema_breaks_it(schema: Any) -> None:
    stand_in(schema)


def test_schemas_that_go_on_for_ever_are_cut() -> None:
    loop: Any = {"$ref": "#"}
    assert stand_in(loop) is None
    wide: Any = {"type": "array", "minItems": 10**9, "items": {"$ref": "#"}}
    assert len(stand_in(wide)) == 100
