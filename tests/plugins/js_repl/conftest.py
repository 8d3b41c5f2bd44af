"""Agents with a JavaScript REPL and a scripted model."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import attrs
import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from replayed_threads import said, thread

from interpstack_js_repl import JsReplMiddleware

__all__ = ["Repl", "ScriptedModel", "call", "repl", "said", "thread"]


class ScriptedModel(GenericFakeChatModel):
    """Says what it is told to say, and keeps what it got."""

    seen: list[list[BaseMessage]]
    bound: list[Any]

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        self.bound[:] = tools
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


def call(given: str | dict[str, Any], name: str = "js_repl") -> dict[str, Any]:
    """A call of one of the two tools."""
    args = {"code": given} if isinstance(given, str) else given
    return {"name": name, "args": args, "id": uuid.uuid4().hex, "type": "tool_call"}


@attrs.define
class Repl:
    """An agent with a REPL."""

    agent: Any
    model: ScriptedModel
    middleware: JsReplMiddleware
    queue: list[AIMessage]

    async def turn(
        self, *calls: str | dict[str, Any] | AIMessage, thread: str = "t"
    ) -> dict[str, Any]:
        """One turn, with a model message for each call; the graph's answer."""
        for one in calls:
            if isinstance(one, AIMessage):
                self.queue.append(one)
                continue
            made = one if isinstance(one, dict) and "name" in one else call(one)
            self.queue.append(AIMessage(content="", tool_calls=[made]))
        self.queue.append(AIMessage(content="done"))
        config = {"configurable": {"thread_id": thread}}
        result: dict[str, Any] = await self.agent.ainvoke({"messages": [("user", "go")]}, config)
        return result

    async def messages(
        self, *calls: str | dict[str, Any] | AIMessage, thread: str = "t"
    ) -> list[ToolMessage]:
        """One turn; the messages that answer its calls."""
        said = (await self.turn(*calls, thread=thread))["messages"]
        last = max(i for i, message in enumerate(said) if message.type == "human")
        return [message for message in said[last:] if isinstance(message, ToolMessage)]

    async def run(self, *calls: str | dict[str, Any] | AIMessage, thread: str = "t") -> list[str]:
        """One turn; the texts that answer its calls."""
        return [message.text for message in await self.messages(*calls, thread=thread)]


@pytest.fixture
async def repl() -> AsyncIterator[Callable[..., Repl]]:
    """Makes agents; closes their REPLs."""
    made: list[JsReplMiddleware] = []

    def make(
        *,
        tools: Iterable[Any] = (),
        after: Iterable[Any] = (),
        checkpointer: Any = None,
        **options: Any,
    ) -> Repl:
        queue: list[AIMessage] = []

        def script() -> Iterator[AIMessage]:
            while True:
                yield queue.pop(0)

        model = ScriptedModel(messages=script(), seen=[], bound=[], disable_streaming=True)
        middleware = JsReplMiddleware(**options)
        made.append(middleware)
        agent = create_agent(
            model,
            tools=list(tools),
            middleware=[middleware, *after],
            checkpointer=checkpointer or InMemorySaver(),
        )
        return Repl(agent, model, middleware, queue)

    yield make
    for middleware in made:
        await middleware.aclose()
