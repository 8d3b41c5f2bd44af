"""Stand for real models, so that the example runs without any."""

from __future__ import annotations

import asyncio
import html
import re
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

CELL = Path(__file__).with_name("cells") / "map.js"
_WORDS = {
    "delivery": r"parcel|courier",
    "defect": r"went dark|switches itself off",
    "billing": r"charged|invoice",
    "account": r"log in|closed my account",
}


class ScriptedModel(BaseChatModel):
    """Sends one cell, and answers with its result."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if isinstance(messages[-1], ToolMessage):
            return _reply(messages, AIMessage(html.unescape(messages[-1].text)))
        call = {"name": "eval", "args": {"code": CELL.read_text("utf-8")}, "id": "map"}
        return _reply(messages, AIMessage("", tool_calls=[call]))


class ScriptedReader(ScriptedModel):
    """Answers one call in the form that the code asked for."""

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        await asyncio.sleep(0.05)  # a real one takes longer
        tickets = messages[-1].text.split("\n# ")[1:]
        counts = {
            cause: sum(bool(re.search(words, ticket)) for ticket in tickets)
            for cause, words in _WORDS.items()
        }
        hazards = [int(ticket.split()[0]) for ticket in tickets if "smoke" in ticket]
        args_ = {"causes": counts, "hazards": hazards}
        call = {"name": "subagent_response", "args": args_, "id": "answer"}
        return _reply(messages, AIMessage("", tool_calls=[call]))


def _reply(messages: list[BaseMessage], reply: AIMessage) -> ChatResult:
    """A reply that reports its tokens, as those of providers do: here, four characters each."""
    read = sum(len(message.text) for message in messages) // 4
    wrote = (len(reply.text) + len(str(reply.tool_calls))) // 4
    reply.usage_metadata = {
        "input_tokens": read,
        "output_tokens": wrote,
        "total_tokens": read + wrote,
    }
    return ChatResult(generations=[ChatGeneration(message=reply)])
