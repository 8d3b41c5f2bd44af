"""The surface of an interpreter whose code may run in the background."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool

from interpstack import GuestLanguage
from interpstack_langchain.background.background import Background
from interpstack_langchain.background.background_evals import BackgroundEvals
from interpstack_langchain.background.cell_tools import TerminateTool, WaitTool
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.evals.surface import Surface
from interpstack_langchain.options import Options

__all__ = ["BackgroundSurface"]


class BackgroundSurface(Surface):
    """Another surface, with tools that continue and end suspended code.

    Args:
        inner: The other surface.
        background: The names of the tools.
    """

    def __init__(self, inner: Surface, background: Background) -> None:
        super().__init__(inner.tool_name)
        self._inner = inner
        self._background = background

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the interpreter's own tools, which code of the interpreter cannot call."""
        return (
            *self._inner.names,
            self._background.wait_name,
            self._background.terminate_name,
        )

    def tools(self, evals: Evals, language: GuestLanguage) -> list[BaseTool]:
        """The interpreter's own tools."""
        fields = {field.name: getattr(evals, field.name) for field in attrs.fields(Evals)}
        ours = BackgroundEvals(**fields, background=self._background)
        return [
            *self._inner.tools(ours, language),
            WaitTool.of(self._background.wait_name, ours.wait),
            TerminateTool.of(self._background.terminate_name, ours.terminate),
        ]

    def part(self, options: Options, lifetime: str) -> object:
        """The part of each `HostOffer` of which a plugin makes the prompt section."""
        return self._inner.part(options, lifetime)

    def for_model(self, tools: Sequence[Any], model: BaseChatModel) -> list[Any]:
        """The tools of one call of the model, in the form that the model takes."""
        return self._inner.for_model(tools, model)

    def messages(
        self, messages: Sequence[AnyMessage], model: BaseChatModel
    ) -> Sequence[AnyMessage]:
        """The messages of one call of the model, in the form that the model takes."""
        return self._inner.messages(messages, model)

    def refusal(self, language: GuestLanguage) -> str:
        """The answer to the model's call of a tool that only code may call."""
        return self._inner.refusal(language)
