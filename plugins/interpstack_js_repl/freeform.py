"""The tool as a custom tool of OpenAI, whose input is raw text in place of JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, Tool

__all__ = ["as_custom_tool", "raw_text", "takes_custom_tools", "with_custom_answers"]

#: The field in which LangChain passes the raw text of a custom tool's call.
_RAW: Final = "__arg1"
#: Text that may be source. Read when this is imported: an event loop must not wait for files.
_GRAMMAR: Final = (files("interpstack_js_repl") / "source.lark").read_text("utf-8")
#: Models of OpenAI that take custom tools.
_MODELS: Final = re.compile(r"(?:gpt-(?:[5-9]|\d\d)|codex)", re.ASCII)


def takes_custom_tools(model: BaseChatModel) -> bool:
    """Whether a model takes custom tools: one of OpenAI's own, by the client `ChatOpenAI`."""
    client = sys.modules.get("langchain_openai")
    if client is None or not isinstance(model, client.ChatOpenAI):
        return False
    elsewhere = getattr(model, "openai_api_base", None) or getattr(model, "base_url", None)
    return elsewhere is None and _MODELS.match(str(model.model_name)) is not None


def as_custom_tool(tool: BaseTool) -> Tool:
    """The form in which the model gets a tool; the agent runs its own tool of the same name."""
    form = {"type": "grammar", "syntax": "lark", "definition": _GRAMMAR}
    return Tool(
        name=tool.name,
        description=tool.description,
        func=_never,
        metadata={"type": "custom_tool", "format": form},
    )


def raw_text(given: Any) -> str | None:
    """The raw text of a custom tool's call; `None` for any other call.

    Args:
        given: The call's arguments.
    """
    return str(given[_RAW]) if isinstance(given, dict) and {*given} == {_RAW} else None


def with_custom_answers(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Messages whose answers to calls with raw text are in the form that the model's API expects.

    The messages in the graph's state keep the usual form, so that another model may go on.
    """
    raw = {
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if raw_text(call["args"]) is not None
    }
    return [
        _custom(message)
        if isinstance(message, ToolMessage) and message.tool_call_id in raw
        else message
        for message in messages
    ]


def _custom(answer: ToolMessage) -> ToolMessage:
    content = answer.content
    output = content if isinstance(content, str) else [_item(block) for block in content]
    block = {"type": "custom_tool_call_output", "output": output}
    return answer.model_copy(update={"content": [block]})


def _item(block: str | dict[str, Any]) -> dict[str, Any]:
    """A content block as an item of a custom tool's output."""
    if isinstance(block, dict) and block.get("type") == "image":
        url = f"data:{block['mime_type']};base64,{block['base64']}"
        return {"type": "input_image", "image_url": url}
    text = block if isinstance(block, str) else str(block.get("text", ""))
    return {"type": "input_text", "text": text}


def _never(text: str) -> str:
    raise NotImplementedError("the agent runs its own tool of this name")
