"""The offline models of the workflow's agents: one counts files by code, one writes the report.

Neither knows the folder: paths and figures come from the prompts, counts from results of the code.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

__all__ = ["ScriptedReader", "ScriptedWriter"]


class ScriptedReader(BaseChatModel):
    """Counts the files that its prompt lists, in one eval, and answers with the eval's result."""

    @property
    def _llm_type(self) -> str:
        return "scripted-reader"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """A script needs no tool descriptions."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        results = [message for message in messages if isinstance(message, ToolMessage)]
        if results:
            return _said(AIMessage(_plain(results[-1].text)))
        asked = next(message for message in messages if message.type == "human")
        paths = json.dumps(_after("Files", asked.text))
        code = files("interpstack_demo.workflow").joinpath("count_shelf.js")
        code_args = {"code": f"const paths = {paths};\n{code.read_text('utf-8')}"}
        call = {"name": "eval", "args": code_args, "id": "count", "type": "tool_call"}
        return _said(AIMessage("", tool_calls=[call]))


class ScriptedWriter(BaseChatModel):
    """Puts the figures of its prompt into sentences and a table."""

    @property
    def _llm_type(self) -> str:
        return "scripted-writer"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        figures = _after("Figures", messages[-1].text)
        lines = [
            f"The folder has **{figures['files']} files** with **{figures['lines']} lines** and "
            f"**{figures['chars']} characters**.",
            "",
            "| type | files | lines |",
            "|---|---|---|",
            *(f"| {t['type']} | {t['files']} | {t['lines']} |" for t in figures["types"][:8]),
            "",
            "Longest: "
            + ", ".join(f"{one['path']} ({one['lines']})" for one in figures["longest"])
            + ".",
        ]
        return _said(AIMessage("\n".join(lines)))


def _said(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _after(word: str, prompt: str) -> Any:
    """The JSON on the line of a prompt that begins with a word."""
    return json.loads(prompt.partition(f"\n{word}: ")[2].partition("\n")[0])


def _plain(result: str) -> str:
    """A result without its envelope; an error keeps it, so as not to look like an answer."""
    return html.unescape(result.removeprefix("<result>").removesuffix("</result>"))
