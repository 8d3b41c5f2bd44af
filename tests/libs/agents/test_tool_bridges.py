"""Bridges to tools: run on the loop, with a text as the field of a tool that has only one."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from interpstack import CellContext, HostTool
from interpstack_agents import ToolBridge, as_single_field


async def _answer(given: Any, context: CellContext | None = None) -> Any:
    return given


def test_the_handler_runs_on_the_loop_though_it_is_no_coroutine_function() -> None:
    def call(value: Any, context: CellContext) -> Awaitable[Any]:
        return _answer(value, context)

    assert ToolBridge(name="tools.a", handler=call, raw=True).is_async


@pytest.mark.parametrize(
    ("fields", "value", "expected"),
    [
        (["a"], "text", {"a": "text"}),
        (["a", "b"], "text", "text"),
        ([], "text", "text"),
        (["a"], {"a": 1}, {"a": 1}),
        (["a"], 1, 1),
        (None, "text", "text"),
    ],
)
def test_a_text_is_the_field_of_a_tool_with_one_field(
    fields: list[str] | None, value: Any, expected: Any
) -> None:
    schema = {} if fields is None else {"properties": {field: {} for field in fields}}
    tool = HostTool(name="t", call=_answer, input_schema=schema)
    assert as_single_field(value, tool) == expected
