"""The graphs that all sides run: the same model, tools and checkpointer, another middleware."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

__all__ = [
    "TOOLS",
    "MakeMiddleware",
    "Once",
    "Stopwatch",
    "agent",
    "agent_turn",
    "ask",
    "last_eval",
]

Once = Callable[[], Awaitable[dict[str, float]]]
#: Makes what a side adds to the graph, for one persistence mode.
MakeMiddleware = Callable[[str], AgentMiddleware[Any, Any, Any]]


@tool
async def echo(text: str) -> str:
    """Return the text."""
    return text


@tool
async def count_rows(rows: list[dict[str, Any]]) -> int:
    """Count rows."""
    return len(rows)


TOOLS = (echo, count_rows)


class Scripted(BaseChatModel):
    """Calls `eval` with each of some codes, one after another, then answers."""

    codes: list[str]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Scripted:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        done = 0
        for message in reversed(messages):
            if isinstance(message, HumanMessage):
                break
            done += isinstance(message, ToolMessage)
        if done >= len(self.codes):
            answer = AIMessage("done")
        else:
            call = {"name": "eval", "args": {"code": self.codes[done]}, "id": uuid.uuid4().hex}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages, *args, **kwargs)


class Stopwatch(AgentMiddleware[Any, Any, Any]):
    """Notes how long each call of `eval` takes, from outside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        begun = time.perf_counter()
        try:
            return await handler(request)
        finally:
            self.seconds.append(time.perf_counter() - begun)


def agent(codes: Sequence[str], *middleware: Any, saver: InMemorySaver | None = None) -> Any:
    """A graph whose model runs `codes` in every turn."""
    return create_agent(
        Scripted(codes=list(codes)),
        tools=list(TOOLS),
        middleware=list(middleware),
        checkpointer=saver or InMemorySaver(),
    )


async def ask(graph: Any, thread: str) -> str:
    """Run one turn; what the last `eval` answered.

    Raises:
        RuntimeError: The eval failed: its time would mean nothing.
    """
    config = {"configurable": {"thread_id": thread}}
    state = await graph.ainvoke({"messages": [("user", "go")]}, config)
    answers = [m.text for m in state["messages"] if isinstance(m, ToolMessage)]
    if "<result>" not in answers[-1]:
        raise RuntimeError(f"the eval failed: {answers[-1][:500]}")
    return str(answers[-1])


async def last_eval(make: MakeMiddleware, code: str, before: str = "0") -> Once:
    """Time the second eval of a turn, so that the first has paid for opening the session."""

    async def once() -> dict[str, float]:
        watch = Stopwatch()
        await ask(agent([before, code], watch, made), uuid.uuid4().hex)
        return {"s": watch.seconds[-1]}

    made = make("turn")
    return once


async def agent_turn(make: MakeMiddleware) -> Once:
    """Time a whole turn with one eval on a thread that is new each time.

    In mode `turn`, which is the cheaper one for the peer: it takes no snapshot.
    """
    graph = agent(["1 + 1"], make("turn"))

    async def once() -> dict[str, float]:
        begun = time.perf_counter()
        await ask(graph, uuid.uuid4().hex)
        return {"s": time.perf_counter() - begun}

    await once()
    return once
