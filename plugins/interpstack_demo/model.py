"""The demo's offline model: it writes code, reads the results, and answers from them.

The model has no knowledge of the folder: all numbers in its answer are results of its code.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

__all__ = ["ScriptedModel"]


class ScriptedModel(BaseChatModel):
    """Two evals, then an answer."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """A script needs no tool descriptions."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        results = [m for m in messages if isinstance(m, ToolMessage)]
        failed = next((m for m in results if "<error" in m.text), None)
        if failed is not None:
            reply = AIMessage(f"The code failed:\n\n```\n{failed.text}\n```")
        elif len(results) == 0:
            reply = _eval("count.js", "count")
        elif len(results) == 1:
            reply = _eval("rank.js", "rank")
        else:
            reply = AIMessage(_answer(results[0].text, results[1].text))
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _eval(name: str, call_id: str) -> AIMessage:
    code = (files("interpstack_demo") / name).read_text("utf-8")
    call = {"name": "eval", "args": {"code": code}, "id": call_id, "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def _answer(counted: str, ranked: str) -> str:
    total = {key: int(value) for key, value in re.findall(r"(\w+): (\d+)", counted)}
    rank = json.loads(html.unescape(re.sub(r"</?result>", "", ranked)))
    lines = [
        f"The folder has **{total['files']} files** with **{total['lines']} lines** and "
        f"**{total['chars']} characters**.",
        "",
        "| type | files | lines |",
        "|---|---|---|",
        *(f"| {t['type']} | {t['files']} | {t['lines']} |" for t in rank["types"]),
        "",
        "Longest: " + ", ".join(f"{f['path']} ({f['lines']})" for f in rank["longest"]) + ".",
        "",
        "Most frequent: "
        + ", ".join(f"{w['word']} ({w['count']})" for w in rank["frequent"])
        + ".",
    ]
    return "\n".join(lines)
