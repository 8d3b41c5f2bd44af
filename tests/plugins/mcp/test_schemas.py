"""Structured content, held to schemas of servers that are not trusted."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from interpstack_mcp import schemas
from interpstack_mcp.schemas import OutputSchema

PRICE = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "pattern": {"type": "string"}},
    "required": ["amount"],
}


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        (PRICE, {"amount": 1}, ""),
        (PRICE, {"amount": "much"}, "$.amount: 'much' is not of type 'integer'"),
        (PRICE, {}, "$: 'amount' is a required property"),
        (PRICE, {"amount": 1, "pattern": 2}, "$.pattern: 2 is not of type 'string'"),
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 60 + "!"}, ""),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a!": 1}, ""),
        ({"enum": [{"pattern": "x"}]}, {"pattern": "x"}, ""),
    ],
)
async def test_faults(schema: Any, value: Any, fault: str) -> None:
    held = OutputSchema("mcp.a.b", schema)
    assert await held.fault(value) == fault
    assert await held.fault(value) == fault  # the validator exists now


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema.json"},
        {"type": "nothing"},
        {"properties": 7},
        {"$ref": "#"},
    ],
)
async def test_a_schema_that_cannot_be_evaluated_finds_no_fault(
    schema: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "interpstack.mcp"):
        assert await OutputSchema("mcp.a.b", schema).fault({"a": 1}) == ""
    assert "the output schema of mcp.a.b was not evaluated" in caplog.text


async def test_a_schema_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(schemas, "_SECONDS", 0.2)
    levels = {
        f"l{level}": {"anyOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(40)
    }
    schema = {"$ref": "#/$defs/l0", "$defs": {**levels, "l40": {"type": "null"}}}
    with caplog.at_level(logging.WARNING, "interpstack.mcp"):
        held = OutputSchema("mcp.a.b", schema)
        for _ in range(2):  # at first in a thread, then for a moment on the loop, too
            caplog.clear()
            assert await held.fault({}) == ""
            assert "it takes more than 0.2 seconds" in caplog.text


@pytest.mark.parametrize(
    ("value", "threads"),
    [
        ({"amount": 1}, 1),
        ({"amount": [0] * 100}, 3),
        ({"amount": {str(n): n for n in range(100)}}, 3),
        ({"amount": "x" * 10_000}, 3),
        ({"x" * 10_000: 1}, 3),
        ({"amount": 10**2000}, 3),
    ],
)
async def test_a_small_value_is_held_to_a_schema_on_the_loop(
    value: Any, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, found = list[Any](), OutputSchema._found

    def noted(held: OutputSchema, given: Any) -> str:
        used.append(given)
        return found(held, given)

    monkeypatch.setattr(OutputSchema, "_found", noted)
    held = OutputSchema("mcp.a.b", {"type": "object"})
    for _ in range(3):
        assert await held.fault(value) == ""
    assert len(used) == threads


async def test_a_schema_that_was_slow_once_is_evaluated_in_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schemas, "_AT_ONCE_SECONDS", -1.0)
    held = OutputSchema("mcp.a.b", PRICE)
    for _ in range(3):
        assert "required" in await held.fault({})
    monkeypatch.setattr(schemas, "_is_small", None)
    assert await held.fault({"amount": 1}) == ""
