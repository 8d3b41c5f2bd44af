"""Arguments, tool, prompt and signatures, beside langchain-quickjs.

`docs/reference/compared.md` names these tests.
"""

from __future__ import annotations

import inspect
import re
from enum import Enum
from typing import Any

import pytest
from langchain_core.tools import tool
from parity import HELPER, Row, Talk, echo, result, system_prompt

from interpstack_langchain import CodeInterpreterMiddleware, REPLMiddleware

PEER_ARGUMENTS = {
    "memory_limit": 64 * 2**20,
    "timeout": 5.0,
    "max_ptc_calls": 256,
    "tool_name": "eval",
    "max_result_chars": 4000,
    "capture_console": True,
    "subagents": True,
    "max_subagent_concurrency": 32,
    "ptc": None,
    "mode": "thread",
    "max_snapshot_bytes": None,
    "snapshot_signing_key": None,
}


def test_area_middleware() -> None:
    signature = inspect.signature(CodeInterpreterMiddleware)
    assert all(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values())
    defaults = {name: signature.parameters[name].default for name in PEER_ARGUMENTS}
    assert defaults == PEER_ARGUMENTS
    CodeInterpreterMiddleware(**PEER_ARGUMENTS).stack.close()
    assert issubclass(REPLMiddleware, CodeInterpreterMiddleware)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("memory_limit", 0),
        ("timeout", -1),
        ("timeout", "5"),
        ("max_ptc_calls", 0),
        ("tool_name", ""),
        ("max_result_chars", 0),
        ("capture_console", "yes"),
        ("subagents", 1),
        ("max_subagent_concurrency", 0),
        ("ptc", "echo"),
        ("ptc", ["task"]),
        ("ptc", ["no identifier!"]),
        ("mode", "for ever"),
        ("max_snapshot_bytes", -1),
        ("snapshot_signing_key", 7),
    ],
)
def test_area_middleware_bad_values(argument: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="no identifier!|" + argument):
        CodeInterpreterMiddleware(**{argument: value})


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_area_tool(converse: Talk, is_async: bool) -> None:
    agent = converse(is_async=is_async)
    assert await agent.one("6 * 7") == result("42")
    (offered,) = agent.model.bound
    assert offered.name == "eval"
    assert list(offered.tool_call_schema.model_json_schema()["properties"]) == ["code"]
    renamed = CodeInterpreterMiddleware(tool_name="js", mode="call")
    assert [t.name for t in renamed.tools] == ["js"]
    assert "persist" in offered.description
    assert "no variable persists" in renamed.tools[0].description
    renamed.stack.close()


async def test_area_prompt(converse: Talk) -> None:
    bare = await system_prompt(converse(timeout=3, memory_limit=32 * 2**20))
    for word in ("`eval`", "persist across calls and turns", "`await`", "3 s", "32 MiB", "console"):
        assert word in bare
    assert "task(" not in bare
    assert "tools" not in bare
    full = await system_prompt(converse(tools=[echo], subagents=[HELPER]))
    assert full.index("`eval`") < full.index("task({") < len(full)
    assert "echo(" in full


class Order(Enum):
    UP = "up"
    DOWN = "down"


@tool
async def search_pages(
    query: str, order: Order = Order.UP, limit: int | None = None, within: list[Row] | None = None
) -> list[Row]:
    """Search pages.

    Several lines of text.
    """
    return []


async def test_area_signatures(converse: Talk) -> None:
    prompt = await system_prompt(converse(tools=[search_pages]))
    text = " ".join(prompt.split())
    assert "searchPages(" in text
    assert "query: string" in text
    assert re.search(r'order\?: "up" \| "down"', text)
    assert re.search(r"limit\?: number \| null", text)
    assert "Search pages." in text
    assert re.search(r"id: number;? tags: string\[\]", text)
    assert "Promise<" in text


async def test_row_18_prompt_length(converse: Talk) -> None:
    def without_tool_list(prompt: str) -> int:
        return len(re.sub(r"```ts.*?```", "", prompt, flags=re.DOTALL))

    alone = without_tool_list(await system_prompt(converse(tools=[echo])))
    assert 0 < alone <= 2500
    everything = await system_prompt(converse(tools=[echo], subagents=[HELPER]))
    assert alone < without_tool_list(everything) <= 4000
