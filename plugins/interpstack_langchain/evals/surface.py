"""Surfaces: the tools and the words by which a model uses an interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool

from interpstack import GuestLanguage
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.evals.eval_tool import EvalTool, eval_schema
from interpstack_langchain.options import Options
from interpstack_langchain.prompt import InterpreterPrompt, tool_description

__all__ = ["Surface"]


class Surface:
    """The surface of `CodeInterpreterMiddleware`: one tool that takes code.

    Args:
        tool_name: Name of the tool.
    """

    #: Whether code may call all tools of the agent unless `ptc` lists some.
    calls_every_tool: ClassVar[bool] = False

    def __init__(self, tool_name: str) -> None:
        self.tool_name = tool_name

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tools that take code, which code of the interpreter cannot call."""
        return (self.tool_name,)

    def tools(self, evals: Evals, language: GuestLanguage) -> list[BaseTool]:
        """The tools that take code.

        Args:
            evals: Runs the model's code.
            language: The guest language.
        """
        return [
            EvalTool.of(
                evals,
                language,
                name=self.tool_name,
                description=tool_description(evals.mode, language),
                args_schema=eval_schema(language.title),
            )
        ]

    def part(self, options: Options, lifetime: str) -> object:
        """The part of each `HostOffer` of which a plugin makes the prompt section.

        Args:
            options: The options of the middleware.
            lifetime: A sentence that says how long variables live.
        """
        return InterpreterPrompt(options, lifetime)

    def for_model(self, tools: Sequence[Any], model: BaseChatModel) -> list[Any]:
        """The tools of one call of the model, in the form that the model takes."""
        return list(tools)

    def messages(
        self, messages: Sequence[AnyMessage], model: BaseChatModel
    ) -> Sequence[AnyMessage]:
        """The messages of one call of the model, in the form that the model takes."""
        return messages

    def refusal(self, language: GuestLanguage) -> str:
        """The answer to the model's call of a tool that only code may call."""
        call = language.call("tools.<name>", {"field": "…"})
        return f"direct tool calls are disabled; use {self.tool_name} and {call} instead"
