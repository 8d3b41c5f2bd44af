"""A model that runs the code it is told to."""

from __future__ import annotations

import json
import uuid
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

#: One model message: the code of one eval, or of several.
Step = str | list[str]


class Script(BaseChatModel):
    """Runs the steps that the user's message lists as JSON, then answers.

    It has no state of its own, so that any number of conversations in any process can share it.
    A message that lists no steps is answered with `heard: <message>`.
    """

    tool: str = "eval"
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Script:
        self.bound[:] = tools
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen[:] = [messages]
        return ChatResult(generations=[ChatGeneration(message=_reply(messages, self.tool))])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)


def _reply(messages: list[BaseMessage], tool: str) -> AIMessage:
    start = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
    asked = messages[start].text
    if not asked.startswith("["):
        return AIMessage(f"heard: {asked}")
    steps = json.loads(asked)
    done = sum(isinstance(m, AIMessage) for m in messages[start:])
    if done >= len(steps):
        return AIMessage("done")
    codes = [steps[done]] if isinstance(steps[done], str) else steps[done]
    calls = [
        {"name": tool, "args": {"code": code}, "id": uuid.uuid4().hex, "type": "tool_call"}
        for code in codes
    ]
    return AIMessage("", tool_calls=calls)


def answers(state: Any) -> list[str]:
    """What the evals of the last turn answered, in the order of the model's calls."""
    messages = state["messages"]
    last = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
    turn = messages[last:]
    texts = {m.tool_call_id: m.text for m in turn if isinstance(m, ToolMessage)}
    calls = [call["id"] for m in turn if isinstance(m, AIMessage) for call in m.tool_calls]
    return [texts[call] for call in calls if call in texts]
