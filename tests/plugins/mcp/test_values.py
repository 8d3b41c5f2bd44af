"""Arguments and results."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from mcp import types

from interpstack import GuestException
from interpstack_mcp.values import to_arguments, to_value


def test_arguments_are_json() -> None:
    given = {"a": [b"\0\1", datetime(2026, 1, 2, tzinfo=UTC)], "b": {"c": 1.5}}
    assert to_arguments(given) == {"a": ["AAE=", "2026-01-02T00:00:00+00:00"], "b": {"c": 1.5}}
    with pytest.raises(TypeError, match="no NaN"):
        to_arguments({"a": float("nan")})


@pytest.mark.parametrize("given", ["\ud800", ["a\udfff"], {"\ud800": 1}, {"a": {"b": "\udc00"}}])
def test_halves_of_surrogate_pairs_are_refused(given: Any) -> None:
    assert to_arguments({"é": "😀"}) == {"é": "😀"}
    with pytest.raises(TypeError, match=r"no halves of surrogate pairs; got .* toWellFormed\(\)"):
        to_arguments(given)


def test_structured_content_is_the_value_of_a_tool_with_a_schema() -> None:
    text = types.TextContent(text="{}")
    result = types.CallToolResult(content=[text], structured_content={"a": 1})
    assert to_value(result, structured=True) == {"a": 1}
    assert to_value(result, structured=False) == [{"type": "text", "text": "{}"}]
    with pytest.raises(GuestException, match="no structured content"):
        to_value(types.CallToolResult(content=[text]), structured=True)


def test_an_error_of_the_tool_is_raised_with_its_text_cut() -> None:
    failed = types.CallToolResult(content=[types.TextContent(text="x" * 5000)], is_error=True)
    with pytest.raises(GuestException) as raised:
        to_value(failed, structured=True)
    assert str(raised.value) == "x" * 4000
    with pytest.raises(GuestException, match="failed without a message"):
        to_value(types.CallToolResult(content=[], is_error=True), structured=False)
