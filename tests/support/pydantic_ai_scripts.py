"""A model for agents of PydanticAI that runs the code it is told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from interpstack_pydantic_ai import CodeInterpreter

__all__ = ["Make", "Script", "results"]

#: One message of the model: the code of one eval, or of several.
Step = str | Sequence[str]


class Script:
    """Runs each step in turn, then answers with the last result; sees what models see."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.instructions: str | None = None
        self.tools: list[str] = []
        self.model = FunctionModel(self.answer)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.instructions = info.instructions
        self.tools = [tool.name for tool in info.function_tools]
        if not self.steps:
            return ModelResponse(parts=[TextPart(results(messages)[-1])])
        step = self.steps.pop(0)
        codes = [step] if isinstance(step, str) else step
        calls = [ToolCallPart("eval", {"code": code}, f"c{n}") for n, code in enumerate(codes)]
        return ModelResponse(parts=calls)


def results(messages: Sequence[ModelMessage]) -> list[str]:
    """The texts of all answers of tools, in order."""
    parts = [part for message in messages for part in message.parts]
    return [p.model_response_str() for p in parts if isinstance(p, ToolReturnPart)]


Make = Callable[..., CodeInterpreter[Any]]
