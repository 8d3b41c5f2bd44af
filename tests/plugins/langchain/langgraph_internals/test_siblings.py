"""What `siblings.py` needs of LangChain's and LangGraph's internals."""

from __future__ import annotations

import asyncio
import time
import weakref
from typing import Any

import pytest
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, after_model
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph._internal._constants import CONFIG_KEY_CALL
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.siblings import graph_run, middleware_of, step_writes

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


class Writing(AgentMiddleware[Any, Any, Any]):
    """Answers the call `a` at once; the call `b` waits for that answer, and asks a person."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[str]]] = []

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        while not self._note(request):
            time.sleep(0.01)
        return self._answer(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        while not self._note(request):  # noqa: ASYNC110 - written by another task
            await asyncio.sleep(0.01)
        return self._answer(request)

    def _note(self, request: Any) -> bool:
        """Note the answers that the other tasks have written, if the call has not to wait."""
        name = request.tool_call["id"]
        written = [one for key, one in step_writes(request.runtime.config) if key == "messages"]
        texts = [message.text for messages in written for message in messages]
        if name == "a" or texts:
            self.seen.append((name, texts))
        return bool(name == "a" or texts)

    def _answer(self, request: Any) -> ToolMessage:
        name = request.tool_call["id"]
        text = str(interrupt("go on?")) if name == "b" else f"answer {len(self.seen)}"
        return ToolMessage(text, tool_call_id=name)

    def take(self) -> list[tuple[str, list[str]]]:
        """What was noted since the last time."""
        seen, self.seen = self.seen, []
        return sorted(seen)


@both
async def test_a_task_finds_what_the_other_tasks_of_its_step_wrote_in_this_branch(
    use_async: bool,
) -> None:
    """Otherwise an eval starts from variables of another branch, or of its own first run."""
    calls = [{"name": "first", "args": {}, "id": one} for one in "ab"]
    messages = iter([AIMessage("", tool_calls=calls), *[AIMessage("done")] * 2])
    writing, saver = Writing(), InMemorySaver()
    agent = create_agent(
        FakeModel(messages=messages), [first], middleware=[writing], checkpointer=saver
    )

    async def send(given: Any, config: Any) -> list[tuple[str, list[str]]]:
        if use_async:
            await agent.ainvoke(given, config)
        else:
            await asyncio.to_thread(agent.invoke, given, config)
        return writing.take()

    config: Any = {"configurable": {"thread_id": "t"}}
    both_run = [("a", []), ("b", ["answer 1"])]
    assert await send({"messages": [("user", "go")]}, config) == both_run
    paused, yes = agent.get_state(config), Command(resume="yes")
    assert await send(yes, paused.config) == [("b", ["answer 1"])], "`a` had ended"
    assert await send(yes, paused.config) == both_run, "the thread has moved on: `a` runs again"


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
