"""Models and graphs that are agents of workflows: stateless, so that any process can go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

__all__ = ["Acting", "message_with_calls"]


def message_with_calls(turn: int, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> AIMessage:
    """A message of a model that calls tools."""
    made: list[Any] = [
        {"name": name, "args": dict(args), "id": f"call-{turn}-{number}", "type": "tool_call"}
        for number, (name, args) in enumerate(calls)
    ]
    return AIMessage("", tool_calls=made)


class Acting(BaseChatModel):
    """Calls tools turn by turn, then answers; the turn is the number of its messages so far.

    Attributes:
        turns: The calls of tools of each turn after a prompt.
        text: The answer; `{prompt}` stands for the last prompt.
        tokens: Tokens that each call reads, and writes; `None` for a model that does not say so.
        seen: The messages of all calls.
        options: The keyword options of all calls.
        failing: Messages of errors that the next calls raise; an empty one for a call that is well.
    """

    turns: list[list[tuple[str, dict[str, Any]]]] = Field(default_factory=list)
    text: str = "answer to {prompt}"
    tokens: tuple[int, int] | None = (10, 5)
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    options: list[dict[str, Any]] = Field(default_factory=list)
    failing: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "acting"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Acting:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.seen.append(messages)
        self.options.append(kwargs)
        if self.failing and (why := self.failing.pop(0)):
            raise ConnectionError(why)
        last = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
        turn = sum(isinstance(m, AIMessage) for m in messages[last:])
        if turn < len(self.turns):
            message = message_with_calls(last * 100 + turn, self.turns[turn])
        else:
            message = AIMessage(self.text.replace("{prompt}", messages[last].text))
        if self.tokens is not None:
            read, written = self.tokens
            message.usage_metadata = {
                "input_tokens": read,
                "output_tokens": written,
                "total_tokens": read + written,
            }
        return ChatResult(generations=[ChatGeneration(message=message)])
