"""Arguments, tool, prompt and signatures, beside langchain-quickjs.

`docs/reference/compared.md` names these tests.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from enum import Enum
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolCallLimitMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from parity import HELPER, Row, Talk, echo, result, system_prompt
from pydantic import BaseModel

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
    assert "no variables persist" in renamed.tools[0].description
    renamed.stack.close()


@pytest.mark.parametrize(
    ("args", "status", "text"),
    [
        ({"code": "1 + 1", "why": "to know"}, "success", "<result>2</result>"),
        (
            {"code": "1 + 1", "why": "to know", "timeout": 9},
            "success",
            "<notice>Ignored arguments: 'why', 'timeout'. eval takes: code.</notice>",
        ),
        ({"source": "1"}, "error", "code"),
        ({"code": 5}, "error", "code"),
    ],
)
async def test_area_tool_arguments(args: Any, status: str, text: str) -> None:
    (answer,) = await _answers([[_call(args)]])
    assert answer.status == status
    assert text in answer.text


async def test_area_tool_beside_other_middleware() -> None:
    limit: Any = ToolCallLimitMiddleware(run_limit=2)
    calls = [[_call({"code": str(n)}, f"c{n}")] for n in range(3)]
    answers = [*(await _answers(calls, [limit]))][:3]
    assert [one.status for one in answers] == ["success", "success", "error"]


async def test_area_tool_and_structured_answers() -> None:
    class Sum(BaseModel):
        total: int

    calls = [[_call({"code": "40 + 2"})], [{"name": "Sum", "args": {"total": 42}, "id": "s"}]]
    state: dict[str, Any] = {}
    first, *_ = await _answers(calls, state=state, response_format=Sum)
    assert first.text == "<result>42</result>"
    assert state["structured_response"] == Sum(total=42)


def _call(args: Any, name: str = "c0") -> dict[str, Any]:
    return {"name": "eval", "args": args, "id": name, "type": "tool_call"}


async def _answers(
    calls: list[list[dict[str, Any]]],
    others: Sequence[Any] = (),
    state: dict[str, Any] | None = None,
    **options: Any,
) -> list[Any]:
    """The answers to the calls that a scripted model makes, message by message."""

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    said = [*(AIMessage("", tool_calls=one) for one in calls), AIMessage("done")]
    interpreter = CodeInterpreterMiddleware()
    agent = create_agent(Model(messages=iter(said)), middleware=[interpreter, *others], **options)
    ended = await agent.ainvoke({"messages": [("user", "go")]})
    interpreter.stack.close()
    if state is not None:
        state.update(ended)
    return [one for one in ended["messages"] if one.type == "tool"]


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
