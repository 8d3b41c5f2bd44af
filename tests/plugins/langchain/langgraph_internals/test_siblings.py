"""What `siblings.py` needs of LangChain's and LangGraph's internals."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

import pytest
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, after_model
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph._internal._constants import CONFIG_KEY_CALL

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.siblings import graph_run, middleware_of

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


@tool
def first() -> str:
    """Answer first."""
    return "first"


class Sync(AgentMiddleware[Any, Any, Any]):
    def after_model(self, state: Any, runtime: Any) -> None:
        pass


class Async(AgentMiddleware[Any, Any, Any]):
    def before_model(self, state: Any, runtime: Any) -> None:
        pass

    async def aafter_model(self, state: Any, runtime: Any) -> None:
        pass


class Looking(AgentMiddleware[Any, Any, Any]):
    """Notes the nodes of the graph in each tool call."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        run = graph_run(request.runtime.config)
        assert run is not None
        weakref.ref(run)  # what evals have done in a run is forgotten with it
        self.found.append(run.nodes)
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        run = graph_run(request.runtime.config)
        assert run is not None
        weakref.ref(run)  # what evals have done in a run is forgotten with it
        self.found.append(run.nodes)
        return await handler(request)


async def _run(siblings: list[Any], looking: Looking, use_async: bool, times: int = 1) -> None:
    call = AIMessage("", tool_calls=[{"name": "first", "args": {}, "id": "1"}])
    messages = iter([call, AIMessage("done")] * times)
    agent = create_agent(
        FakeModel(messages=messages),
        tools=[first],
        middleware=[*siblings[:1], looking, *siblings[1:]],
    )
    for _ in range(times):
        given: Any = {"messages": [("user", "go")]}
        if use_async:
            await agent.ainvoke(given)
        else:
            await asyncio.to_thread(agent.invoke, given)


@both
async def test_siblings_are_found_from_a_tool_call(use_async: bool) -> None:
    """Otherwise calls from code bypass the approvals that they ask for."""

    @after_model
    def decorated(state: Any, runtime: Any) -> None:
        pass

    siblings = [Sync(), *([Async()] if use_async else []), decorated]
    looking = Looking()
    await _run(siblings, looking, use_async)
    (nodes,) = looking.found
    assert {*map(id, middleware_of(nodes))} == {*map(id, siblings)}


@both
async def test_each_run_of_an_agent_has_the_same_nodes(use_async: bool) -> None:
    """Otherwise the rules of an agent are looked up in each eval."""
    looking = Looking()
    await _run([Sync()], looking, use_async, times=3)
    assert len(looking.found) == 3
    assert all(nodes is looking.found[0] for nodes in looking.found)


def test_outside_of_a_graph_there_are_no_nodes() -> None:
    assert graph_run({}) is None


async def test_a_graph_without_nodes_that_can_be_found_is_refused() -> None:
    class Hiding(Looking):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            config = request.runtime.config
            conf = {k: v for k, v in config["configurable"].items() if k != CONFIG_KEY_CALL}
            with pytest.raises(ConfigurationError, match="cannot find the nodes of the agent's"):
                graph_run({**config, "configurable": conf})
            return await super().awrap_tool_call(request, handler)

    hiding = Hiding()
    await _run([Sync()], hiding, use_async=True)
    assert hiding.found
