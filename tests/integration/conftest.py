"""Agents with a model that runs the code it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from deepagents.backends import StateBackend
from deepagents.middleware import SubAgentMiddleware
from engines import OnEngine
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from scripted import Script, Step, answers

from interpstack_langchain import CodeInterpreterMiddleware


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "load: takes minutes; runs when INTERPSTACK_LOAD=1 is set")


@attrs.define
class Conversations:
    """One agent, and the ways to talk to it."""

    agent: Any
    model: Script
    middleware: CodeInterpreterMiddleware
    is_async: bool = True

    @property
    def engine(self) -> str:
        """Name of its engine."""
        return self.middleware.stack.engine.name

    async def send(self, given: Any, config: Any) -> Any:
        """Invoke the graph as the checkpointer wants it."""
        if self.is_async:
            return await self.agent.ainvoke(given, config)
        return await asyncio.to_thread(self.agent.invoke, given, config)

    async def turn(self, *steps: Step, thread: str = "t", config: Any = None) -> Any:
        """One turn; the graph's state after it."""
        config = config or {"configurable": {"thread_id": thread}}
        return await self.send({"messages": [("user", json.dumps(steps))]}, config)

    async def run(self, *steps: Step, thread: str = "t", config: Any = None) -> list[str]:
        """One turn; what the evals answered."""
        return answers(await self.turn(*steps, thread=thread, config=config))

    async def one(self, code: str, **kwargs: Any) -> str:
        """One turn of one eval; its answer."""
        return (await self.run(code, **kwargs))[0]

    async def state(self, thread: str = "t") -> Any:
        """The newest checkpoint."""
        config: Any = {"configurable": {"thread_id": thread}}
        if self.is_async:
            return await self.agent.aget_state(config)
        return await asyncio.to_thread(self.agent.get_state, config)

    async def history(self, thread: str = "t") -> list[Any]:
        """Checkpoints at which a turn had ended, oldest first."""
        config = {"configurable": {"thread_id": thread}}
        if self.is_async:
            found = [state async for state in self.agent.aget_state_history(config)]
        else:
            found = await asyncio.to_thread(lambda: list(self.agent.get_state_history(config)))
        return [state for state in reversed(found) if not state.next and state.values]


MakeConversations = Callable[..., Conversations]


@pytest.fixture
def converse(on_engine: OnEngine) -> Iterator[MakeConversations]:
    """Makes agents; at the end closes their interpreters."""
    made: list[CodeInterpreterMiddleware] = []

    def make(
        *,
        tools: Any = (),
        subagents: Any = (),
        around: Any = (),
        saver: Any = None,
        is_async: bool = True,
        interpreter: Any = None,
        **options: Any,
    ) -> Conversations:
        agent = make_agent(
            tools=tools,
            subagents=subagents,
            around=around,
            saver=saver,
            is_async=is_async,
            interpreter=interpreter,
            **{"engine": on_engine.name, **options},
        )
        made.append(agent.middleware)
        return agent

    yield make
    for middleware in made:
        middleware.stack.close()


def make_agent(
    *,
    tools: Any = (),
    subagents: Any = (),
    around: Any = (),
    saver: Any = None,
    is_async: bool = True,
    interpreter: Any = None,
    **options: Any,
) -> Conversations:
    """An agent in whose code its tools can be called; `options` are the middleware's."""
    if tools and "ptc" not in options:
        options["ptc"] = [tool.name for tool in tools]
    interpreter = interpreter or CodeInterpreterMiddleware(**options)
    inner = []
    if subagents:
        inner.append(SubAgentMiddleware(backend=StateBackend(), subagents=list(subagents)))
    model = Script()
    agent = create_agent(
        model,
        tools=list(tools),
        middleware=[*around, *inner, interpreter],
        checkpointer=InMemorySaver() if saver is None else saver,
    )
    return Conversations(agent, model, interpreter, is_async)
