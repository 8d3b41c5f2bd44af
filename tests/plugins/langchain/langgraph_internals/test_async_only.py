"""Tests of interpstack_langchain.langgraph_internals.async_only."""

from __future__ import annotations

from typing import Any

import pytest
from deepagents.middleware.subagents import SubAgentMiddleware
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph

from interpstack_langchain.langgraph_internals.async_only import only_async, subagents_of


async def _awaited(state: Any) -> Any:
    return state


def _blocking(state: Any) -> Any:
    return state


def _graph(step: Any) -> Any:
    made = StateGraph(dict)
    made.add_node("step", step)
    made.add_edge(START, "step")
    made.add_edge("step", END)
    return made.compile()


def _agent(function: Any) -> Any:
    function.__doc__ = "Act."
    return create_agent(GenericFakeChatModel(messages=iter(())), tools=[tool(function)])


@pytest.mark.parametrize(
    ("runnable", "expected"),
    [
        (RunnableLambda(_awaited), True),
        (RunnableLambda(_blocking), False),
        (RunnableLambda(_blocking, _awaited), False),
        (RunnableLambda(_blocking) | RunnableLambda(_awaited), True),
        (RunnableLambda(_awaited).with_config(tags=["a"]), True),
        (_graph(_awaited), True),
        (_graph(_blocking), False),
        (_graph(_graph(_awaited)), True),
        (_agent(_awaited), True),
        (_agent(_blocking), False),
        (_agent(_awaited).with_config(tags=["a"]), True),
        (object(), False),
    ],
)
def test_a_part_without_a_blocking_form_is_found(runnable: Any, expected: bool) -> None:
    assert only_async(runnable) is expected


def test_the_subagents_of_deep_agents_are_found() -> None:
    spec: Any = {"name": "kid", "description": "helps", "runnable": RunnableLambda(_awaited)}
    (task,) = SubAgentMiddleware(backend=None, subagents=[spec]).tools
    found = subagents_of(task)
    assert list(found) == ["kid"]
    assert only_async(found["kid"])


def test_another_tool_of_that_name_has_none() -> None:
    @tool("task")
    def other(description: str, subagent_type: str) -> str:
        """Act."""
        return description

    assert subagents_of(other) == {}
