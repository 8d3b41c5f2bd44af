"""Untrusted schemas end in time."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema.validators import Draft202012Validator

from interpstack_schemas import EvaluationTimeout, bounded_dialect, within

DIALECT = bounded_dialect(Draft202012Validator)


def _valid(schema: Any, value: Any) -> bool:
    return within(5, lambda: bool(DIALECT(schema).is_valid(value)))


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "integer"}, 1, True),
        ({"type": "integer"}, "1", False),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}], False),
        ({"uniqueItems": True}, [1, True, "1", [1]], True),
        ({"uniqueItems": True}, "aa", True),
    ],
)
def test_values(schema: Any, value: Any, valid: bool) -> None:
    assert _valid(schema, value) == valid


def test_many_items_are_compared_in_time() -> None:
    assert _valid({"uniqueItems": True}, [{"a": number} for number in range(20_000)])


def test_a_schema_that_describes_too_much_work_is_left() -> None:
    levels = {
        f"l{level}": {"anyOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(40)
    }
    schema = {"$ref": "#/$defs/l0", "$defs": {**levels, "l40": {"type": "null"}}}
    with pytest.raises(EvaluationTimeout):
        within(0.2, lambda: DIALECT(schema).is_valid(1))


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"not": {"$ref": "#"}}, {"if": {"$ref": "#"}}])
def test_a_schema_without_an_end_is_left_before_the_stack_ends(schema: Any) -> None:
    for _ in range(20):  # the depth is that of one evaluation
        with pytest.raises(RecursionError, match="more than 200 keywords are inside each other"):
            _valid(schema, 1)


def test_keywords_beside_each_other_are_not_inside_each_other() -> None:
    nested: Any = {"type": "integer"}
    for _ in range(190):
        nested = {"anyOf": [nested]}
    assert _valid({"allOf": [nested] * 3}, 1)
    assert not _valid({"items": {"type": "integer"}}, ["a"] * 1000)
    assert _valid({"items": {"type": "integer", "minimum": 0}}, [1] * 1000)
    assert not _valid({"anyOf": [{"items": {"type": "string"}}] * 300}, [1])
