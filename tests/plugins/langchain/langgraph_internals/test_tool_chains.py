"""What `tool_chains.py` needs of LangChain's and LangGraph's internals."""

from __future__ import annotations

import asyncio
import functools
from typing import Any
from unittest.mock import Mock

import pytest
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt.tool_node import ToolNode
from langsmith import Client, get_current_run_tree, tracing_context

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.tool_chains import whole_chain

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


def same(request: Any) -> Any:
    """No preparation."""
    return request


@tool
def first() -> str:
    """Answer first."""
    return "first"


@tool
def second() -> str:
    """Answer second."""
    return "second"


class Noting(AgentMiddleware[Any, Any, Any]):
    """Notes the tools that are called through it."""

    def __init__(self, label: str, seen: list[str]) -> None:
        super().__init__()
        self.label, self.seen = label, seen

    @property
    def name(self) -> str:
        return self.label

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        self.seen.append(f"{self.label} {request.tool_call['name']}")
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        self.seen.append(f"{self.label} {request.tool_call['name']}")
        return await handler(request)


class Caller(AgentMiddleware[Any, Any, Any]):
    """Calls `second` in place of `first`, through the whole chain."""

    def __init__(self, around: Any = lambda handler: handler, *, skips: bool = False) -> None:
        super().__init__()
        self.around, self.skips = around, skips
        self.passed = 0

    def _other(self, request: Any) -> Any:
        call = {**request.tool_call, "name": "second"}
        return request.override(tool_call=call, tool=second)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] == "second":
            self.passed += 1
            return handler(request)
        own = self.wrap_tool_call if self.skips else print
        whole = whole_chain(self.around(handler), own, same, is_async=False)
        return whole(self._other(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] == "second":
            self.passed += 1
            return await handler(request)
        own = self.awrap_tool_call if self.skips else print
        whole = whole_chain(self.around(handler), own, same, is_async=True)
        return await whole(self._other(request))


def _call() -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "first", "args": {}, "id": "1"}])


async def _answer(graph: Any, use_async: bool, *given: Any) -> str:
    messages = {"messages": [("user", "go"), *given]}
    if use_async:
        result = await graph.ainvoke(messages)
    else:
        result = await asyncio.to_thread(graph.invoke, messages)
    return str([m.text for m in result["messages"] if m.type == "tool"][-1])


@both
async def test_a_call_passes_all_middleware_once_in_order(use_async: bool) -> None:
    """Otherwise a guard in front of the interpreter is bypassed by calls from code."""
    for before in range(4):
        seen: list[str] = []
        noting = [Noting(label, seen) for label in "abc"]
        agent = create_agent(
            FakeModel(messages=iter([_call(), AIMessage("done")])),
            tools=[first, second],
            middleware=[*noting[:before], Caller(), *noting[before:]],
        )
        assert await _answer(agent, use_async) == "second"
        outside = [f"{label} first" for label in "abc"[:before]]
        assert seen == [*outside, "a second", "b second", "c second"]


@both
@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("after", [0, 2])
async def test_the_own_method_that_does_nothing_is_left_out(
    use_async: bool, before: int, after: int
) -> None:
    """Tracing makes each method of the chain slow, and most agents have the interpreter alone."""
    seen: list[str] = []
    noting = [Noting(label, seen) for label in "abc"]
    caller = Caller(skips=True)
    agent = create_agent(
        FakeModel(messages=iter([_call(), AIMessage("done")])),
        tools=[first, second],
        middleware=[*noting[:before], caller, *noting[before : before + after]],
    )
    assert await _answer(agent, use_async) == "second"
    assert caller.passed == 0
    assert seen[before:] == [f"{label} second" for label in "abc"[: before + after]]


@both
@pytest.mark.parametrize(
    "around",
    [lambda handler: lambda request: handler(request), lambda handler: _deeper(handler)],
    ids=["function", "functions"],
)
async def test_functions_around_the_handler_are_looked_through(
    around: Any, use_async: bool
) -> None:
    seen: list[str] = []
    agent = create_agent(
        FakeModel(messages=iter([_call(), AIMessage("done")])),
        tools=[first, second],
        middleware=[Noting("a", seen), Caller(around)],
    )
    assert await _answer(agent, use_async) == "second"
    assert seen == ["a first", "a second"]


def _deeper(handler: Any) -> Any:
    @functools.wraps(handler)
    def outer(request: Any) -> Any:
        return inner(request)

    def inner(request: Any) -> Any:
        return handler(request)

    return outer


@both
async def test_a_tool_node_of_a_graph_of_ones_own(use_async: bool) -> None:
    """With a synchronous wrapper alone, an asynchronous node calls that one."""
    caller = Caller()
    for wrappers in ({"awrap_tool_call": caller.awrap_tool_call}, {}):
        graph = StateGraph(MessagesState)
        node = ToolNode([first, second], wrap_tool_call=caller.wrap_tool_call, **wrappers)
        graph.add_node("tools", node)
        graph.add_edge(START, "tools")
        graph.add_edge("tools", END)
        assert await _answer(graph.compile(), use_async, _call()) == "second"


@pytest.mark.parametrize("is_async", [True, False])
def test_a_handler_of_no_tool_node_is_refused(is_async: bool) -> None:
    handlers = [lambda request: request, print, functools.partial(print), _endless()]
    for handler in handlers:
        with pytest.raises(ConfigurationError, match="cannot find the agent's tool node"):
            whole_chain(handler, print, same, is_async=is_async)


def _endless() -> Any:
    """Two functions that have each other."""

    def one(request: Any) -> Any:
        return other(request)

    def other(request: Any) -> Any:
        return one(request)

    return one


def test_the_request_is_prepared_behind_all_middleware() -> None:
    seen: list[str] = []

    class Preparing(Caller):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            if request.tool_call["name"] == "second":
                return handler(request)
            whole = whole_chain(handler, print, prepare, is_async=False)
            return whole(self._other(request))

    def prepare(request: Any) -> Any:
        seen.append("prepared")
        return request.override(tool=first)

    agent = create_agent(
        FakeModel(messages=iter([_call(), AIMessage("done")])),
        tools=[first, second],
        middleware=[Preparing(), Noting("a", seen)],
    )
    result = agent.invoke({"messages": [("user", "go")]})
    assert result["messages"][-2].text == "first"
    assert seen == ["a second", "prepared"]


class Spans(Noting):
    """Notes the span in which each call is made."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        tree = get_current_run_tree()
        self.seen.append(f"{request.tool_call['name']} {tree.name if tree else '-'}")
        return await handler(request)


class Counting(Caller):
    """Counts the hops to threads that the call of `second` takes."""

    def __init__(self) -> None:
        super().__init__(skips=True)
        self.hops = 0

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        loop = asyncio.get_running_loop()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop, "run_in_executor", self._counted(loop.run_in_executor))
            return await super().awrap_tool_call(request, handler)

    def _counted(self, run: Any) -> Any:
        def counted(*args: Any) -> Any:
            self.hops += 1
            return run(*args)

        return counted


@pytest.mark.parametrize("enabled", [False, "local"], ids=["untraced", "traced"])
async def test_methods_of_the_chain_are_traced_where_the_run_is(enabled: Any) -> None:
    """LangChain's tracing takes two hops to a thread for each method, even where it is off."""
    seen: list[str] = []
    caller = Counting()
    agent = create_agent(
        FakeModel(messages=iter([_call(), AIMessage("done")])),
        tools=[first, second],
        middleware=[caller, Spans("a", seen), Spans("b", seen)],
    )
    client = Client(api_key="none", session=Mock(), auto_batch_tracing=False)  # sends nothing
    with tracing_context(enabled=enabled, client=client):
        assert await _answer(agent, True) == "second"
    if enabled:
        assert seen == ["second a.awrap_tool_call", "second b.awrap_tool_call"]
    else:
        assert seen == ["second -", "second -"]
        assert caller.hops == 1  # of the tool, which is synchronous
