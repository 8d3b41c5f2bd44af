"""An agent whose code runs in worker processes."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from interpstack_langchain import CodeInterpreterMiddleware

#: How often the tool was called, by its argument.
calls: list[str] = []


@tool
async def search(query: str) -> str:
    """Search."""
    calls.append(query)
    return query.upper()


class ScriptedModel(GenericFakeChatModel):
    """Says what it is told to say."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self


@pytest.fixture
def run() -> Iterator[Callable[..., Any]]:
    """Runs one turn of an agent in which the model evaluates each piece of code."""
    calls.clear()

    @tool
    async def sabotage(query: str) -> str:
        """Kill the worker that asks, once it computes again."""
        calls.append(query)
        for worker in middleware.stack.engine.pool.workers:  # type: ignore[attr-defined]
            threading.Timer(0.3, os.kill, (worker.pid, signal.SIGKILL)).start()
        return "done"

    middleware = CodeInterpreterMiddleware(engine="process:quickjs", ptc=[search, sabotage])
    queue: list[AIMessage] = []

    def script() -> Iterator[AIMessage]:
        while True:
            yield queue.pop(0)

    agent = create_agent(
        ScriptedModel(messages=script(), disable_streaming=True),
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )

    async def turn(*codes: str) -> list[str]:
        for code in codes:
            call = {"name": "eval", "args": {"code": code}, "id": uuid.uuid4().hex}
            queue.append(AIMessage("", tool_calls=[{**call, "type": "tool_call"}]))  # type: ignore[list-item]
        queue.append(AIMessage("done"))
        config: Any = {"configurable": {"thread_id": "t"}}
        state = await agent.ainvoke({"messages": [("user", "go")]}, config)
        last = max(i for i, m in enumerate(state["messages"]) if m.type == "human")
        return [m.text for m in state["messages"][last:] if isinstance(m, ToolMessage)]

    yield turn
    middleware.stack.close()


async def test_tools_and_state_work_as_in_the_process(run: Any) -> None:
    found = await run(
        "const found = await Promise.all(['a', 'b'].map((query) => tools.search({query}))); found",
        "const next = () => found.length; next()",
    )
    assert found == ['<result>["A", "B"]</result>', "<result>2</result>"]
    assert await run("next() + 1") == ["<result>3</result>"]
    assert calls == ["a", "b"]


async def test_a_dead_worker_costs_one_eval(run: Any) -> None:
    found = await run(
        "let kept = 41; kept",
        "kept = 0; await tools.search({query: 'before'}); "
        "await tools.sabotage({query: 'now'}); for (;;);",
        "kept + 1",
    )
    assert found == [
        "<result>41</result>",
        '<error type="EngineFailure">the worker process was killed by SIGKILL; variables are as '
        "they were before this cell</error>",
        "<result>42</result>",
    ]
    assert await run("kept") == ["<result>41</result>"]
    assert calls == ["before", "now"]
