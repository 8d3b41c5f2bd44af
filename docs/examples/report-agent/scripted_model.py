"""Stands for a real model, so that the example runs without one."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

CELLS = sorted(Path(__file__).with_name("cells").glob("*.js"))


class ScriptedModel(BaseChatModel):
    """Sends one cell in each turn, and answers with what the last one returned."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        results = [message.text for message in messages if isinstance(message, ToolMessage)]
        if results and "<error" in results[-1]:
            reply = AIMessage(f"The code failed: {results[-1]}")
        elif len(results) < len(CELLS):
            code = CELLS[len(results)].read_text("utf-8")
            call = {"name": "eval", "args": {"code": code}, "id": f"eval-{len(results)}"}
            reply = AIMessage("", tool_calls=[call])
        else:
            reply = AIMessage(html.unescape(results[-1]))
        return ChatResult(generations=[ChatGeneration(message=reply)])
