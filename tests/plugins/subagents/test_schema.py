"""Schemas that code hands to a model are bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import GuestException
from interpstack_subagents.schema import MAX_BYTES, MAX_DEPTH, MAX_PROPERTIES, check_schema


def _nested(levels: int) -> dict[str, Any]:
    return {"properties": {"a": _nested(levels - 1)}} if levels else {"type": "string"}


def test_a_schema_has_a_type_and_a_title() -> None:
    fields = {"properties": {}}
    assert check_schema(fields) == {"type": "object", "title": "subagent_response", **fields}
    assert check_schema({"title": "My report!", **fields})["title"] == "My_report"
    assert check_schema({"title": "é", **fields})["title"] == "subagent_response"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ([], "'responseSchema' is a JSON Schema with type \"object\""),
        ({"type": "array"}, 'type "object"'),
        ({}, "'responseSchema' does not describe the answer; name its fields"),
        ({"type": "object", "title": "Report", "items": {}}, "does not describe the answer"),
        ({"required": [], "default": float("nan")}, "is plain JSON"),
        ({"required": [], "default": b""}, "is plain JSON"),
        ({"required": [], "description": "x" * MAX_BYTES}, f"may have {MAX_BYTES} bytes"),
        (_nested(MAX_DEPTH + 1), f"may nest {MAX_DEPTH} levels; it nests {MAX_DEPTH + 1}"),
        (
            {"properties": {f"p{n}": {} for n in range(MAX_PROPERTIES + 1)}},
            f"may have {MAX_PROPERTIES} properties",
        ),
        ({"properties": []}, 'has an object as "properties"'),
        ({"properties": None}, 'has an object as "properties"'),
    ],
    ids=["list", "array", "empty", "untold", "nan", "bytes", "long", "deep", "wide", "odd", "null"],
)
def test_what_is_none_or_too_large_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(GuestException, match=message):
        check_schema(schema)


@pytest.mark.parametrize("place", ["items", "not", "anyOf", "$defs"])
def test_schemas_inside_count_wherever_they_stand(place: str) -> None:
    inner = _nested(MAX_DEPTH)
    given = {"anyOf": [inner], "$defs": {"a": inner}}.get(place, inner)
    assert json.dumps(given)
    with pytest.raises(GuestException, match="levels"):
        check_schema({"properties": {}, place: given})
