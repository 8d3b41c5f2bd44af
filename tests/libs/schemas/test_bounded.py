"""Untrusted schemas end in time."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema.validators import Draft202012Validator

from interpstack_schemas import OutOfTime, bounded_dialect, within

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
    with pytest.raises(OutOfTime):
        within(0.2, lambda: DIALECT(schema).is_valid(1))
