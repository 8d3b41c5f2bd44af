"""Real agents with a scripted model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs
import pytest
from engines import OnEngine
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from interpstack_langchain import CodeInterpreterMiddleware

END = "done"
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class ScriptedModel(FakeModel):
    """Says what the test sets, and records the messages that it receives."""

    seen: list[list[BaseMessage]]

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


def many(*codes: str, name: str = "eval") -> AIMessage:
    """One model message with an eval for each piece of code."""
    calls = [
        {"name": name, "args": {"code": code}, "id": uuid.uuid4().hex, "type": "tool_call"}
        for code in codes
    ]
    return AIMessage(content="", tool_calls=calls)


def answers(result: Any) -> list[str]:
    """What the evals of the last turn answered."""
    messages = result["messages"]
    last = max(i for i, m in enumerate(messages) if m.type == "human")
    return [m.text for m in messages[last:] if isinstance(m, ToolMessage)]


@pytest.fixture
def evals() -> Callable[..., AIMessage]:
    """One model message with several evals."""
    return many


@attrs.define
class Conversation:
    """An agent, and the ways to talk to it."""

    agent: Any
    model: ScriptedModel
    middleware: CodeInterpreterMiddleware
    say: Callable[[Iterable[AIMessage]], None]
    use_async: bool = True

    async def send(self, given: Any, config: Any = CONFIG) -> Any:
        """Run the graph in the way of the test; the graph's answer."""
        if self.use_async:
            return await self.agent.ainvoke(given, config)
        return await asyncio.to_thread(self.agent.invoke, given, config)

    async def decide(self, *decisions: Any, **beside: Any) -> Any:
        """Answer the approvals of a pause; the graph's answer."""
        return await self.send(Command(resume={"decisions": list(decisions), **beside}))

    async def turn(self, *codes: str | AIMessage, thread: str = "t", config: Any = None) -> Any:
        """One turn in which the model runs each piece of code; the graph's answer."""
        self.say([c if isinstance(c, AIMessage) else many(c) for c in codes])
        given = {"messages": [("user", "go")]}
        return await self.send(given, config or {"configurable": {"thread_id": thread}})

    async def run(self, *codes: str | AIMessage, **kwargs: Any) -> list[str]:
        """One turn; what the evals answered."""
        return answers(await self.turn(*codes, **kwargs))


@pytest.fixture
def use_async() -> bool:
    """Whether `Conversation` uses `ainvoke`; tests parametrise it."""
    return True


@pytest.fixture
def talk(use_async: bool, on_engine: OnEngine) -> Iterator[Callable[..., Conversation]]:
    """Makes conversations; closes what they opened."""
    made: list[CodeInterpreterMiddleware] = []

    def make(
        *,
        tools: Iterable[Any] = (),
        before: Iterable[Any] = (),
        after: Iterable[Any] = (),
        checkpointer: Any = "memory",
        agent_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> Conversation:
        queue: list[AIMessage] = []

        def script() -> Iterator[AIMessage]:
            while True:
                yield queue.pop(0)

        def say(messages: Iterable[AIMessage]) -> None:
            queue[:] = [*messages, AIMessage(content=END)]

        model = ScriptedModel(messages=script(), seen=[], disable_streaming=True)
        middleware = CodeInterpreterMiddleware(**{"engine": on_engine.name, **options})
        made.append(middleware)
        agent = create_agent(
            model,
            tools=list(tools),
            middleware=[*before, middleware, *after],
            checkpointer=InMemorySaver() if checkpointer == "memory" else checkpointer,
            **(agent_options or {}),
        )
        return Conversation(agent, model, middleware, say, use_async)

    yield make
    for middleware in made:
        middleware.stack.close()
