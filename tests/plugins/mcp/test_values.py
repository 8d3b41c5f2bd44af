"""Arguments and results."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from mcp import types

from interpstack import GuestException
from interpstack_mcp.values import content_beside, to_arguments, to_value


def test_arguments_are_json() -> None:
    given = {"a": [b"\0\1", datetime(2026, 1, 2, tzinfo=UTC)], "b": {"c": 1.5}}
    assert to_arguments(given) == {"a": ["AAE=", "2026-01-02T00:00:00.000Z"], "b": {"c": 1.5}}
    with pytest.raises(TypeError, match="no NaN"):
        to_arguments({"a": float("nan")})


@pytest.mark.parametrize("given", ["\ud800", ["a\udfff"], {"\ud800": 1}, {"a": {"b": "\udc00"}}])
def test_halves_of_surrogate_pairs_are_refused(given: Any) -> None:
    assert to_arguments({"é": "😀"}) == {"é": "😀"}
    with pytest.raises(TypeError, match=r"no halves of surrogate pairs; got .* toWellFormed\(\)"):
        to_arguments(given)


@pytest.mark.parametrize(
    ("date", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), "2026-01-02T03:04:05.678Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC), "2026-01-02T03:04:05.678901Z"),
        (datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=2))), "2026-01-01T23:00:00.000Z"),
        (datetime(2026, 1, 2, 3), "2026-01-02T03:00:00"),
    ],
)
def test_dates_are_written_as_javascript_writes_them(date: datetime, text: str) -> None:
    assert to_arguments({"at": date}) == {"at": text}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _result(structured: Any, *blocks: Any, **fields: Any) -> types.CallToolResult:
    content = [types.TextContent(text=one) if isinstance(one, str) else one for one in blocks]
    return types.CallToolResult(content=content, structured_content=structured, **fields)


LINK = types.ResourceLink(name="a", uri="file:///a")
LINKED = {"type": "resource_link", "name": "a", "uri": "file:///a"}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (9007199254740992.0, "9007199254740992"),
        (-1.7e18, "-1700000000000000000"),
        (-0.0, "0"),
        (3.0, "3"),
        (0.5, "0.5"),
        (1e21, "1e+21"),
        (2**64, "18446744073709551616"),
    ],
)
def test_numbers_are_written_as_javascript_writes_them(number: float, text: str) -> None:
    assert json.dumps(to_arguments({"n": [number]})) == f'{{"n": [{text}]}}'


def test_structured_content_is_the_value_of_a_tool_with_a_schema() -> None:
    assert to_value(_result({"a": 1}, "{}"), has_schema=True) == {"a": 1}
    with pytest.raises(GuestException, match="no structured content"):
        to_value(_result(None, "{}"), has_schema=True)


@pytest.mark.parametrize(
    ("structured", "blocks", "value"),
    [
        ({"a": 1}, ['{"a":1}'], {"a": 1}),
        ({"a": 1}, ['{\n  "a": 1\n}', LINK], {"a": 1, "content": [LINKED]}),
        ({"a": 1}, ["one"], {"a": 1, "content": [_text("one")]}),
        ({"content": 1}, [LINK], {"content": 1, "content_": [LINKED]}),
        ({"result": [1, 2]}, ["1", "2"], {"result": [1, 2]}),
        ({"result": "3"}, ["3"], {"result": "3"}),
        ({"result": 3}, ["3"], {"result": 3}),
        ({"a": 1}, ['{"a": true}'], {"a": 1, "content": [_text('{"a": true}')]}),
        ({"a": [1]}, ['{"a": [1.0]}'], {"a": [1]}),
        ({"a": 1}, [], {"a": 1}),
        ([1], ["no JSON"], [1]),
    ],
)
def test_blocks_that_say_more_are_beside_structured_content(
    structured: Any, blocks: list[Any], value: Any
) -> None:
    result = _result(structured, *blocks)
    assert content_beside(structured, result) == value


def test_structured_content_of_a_tool_without_a_schema_is_the_first_block() -> None:
    first = {"type": "structured", "structuredContent": {"a": 1}, "text": '{"a": 1}'}
    data = {"type": "text", "text": "one"}
    assert to_value(_result({"a": 1}, "one", LINK), has_schema=False) == [first, data, LINKED]
    assert to_value(_result({"a": 1}, '{"a":1}'), has_schema=False) == [first]
    assert to_value(_result(None, "one"), has_schema=False) == [data]


def test_an_error_of_the_tool_is_raised_with_its_text_cut() -> None:
    with pytest.raises(GuestException) as raised:
        to_value(_result(None, "x" * 5000, is_error=True), has_schema=True)
    assert str(raised.value) == "x" * 4000
    with pytest.raises(GuestException, match="failed without a message"):
        to_value(_result(None, is_error=True), has_schema=False)


def test_an_error_of_the_tool_keeps_its_details() -> None:
    with pytest.raises(GuestException) as raised:
        to_value(_result({"code": 7}, "no", LINK, is_error=True), has_schema=False)
    assert raised.value.error.data["structuredContent"] == {"code": 7}
    assert raised.value.error.data["content"] == [{"type": "text", "text": "no"}, LINKED]
    with pytest.raises(GuestException) as raised:
        to_value(_result({"a": "x" * 9000}, "no", is_error=True), has_schema=False)
    assert raised.value.error.data["structuredContent"] == '{"a": "' + "x" * 1993 + "…"
