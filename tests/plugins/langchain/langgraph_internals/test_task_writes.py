"""Writes of a graph's task, and the reducers of its channels."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph._internal._constants import CONFIG_KEY_READ, CONFIG_KEY_SEND
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.last_value import LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from interpstack_langchain.langgraph_internals.task_writes import TaskWrites


def _read(task: str, channels: Any) -> None:
    """Stands in for the function by which tasks read."""


def _config(sent: list[Any], channels: dict[str, Any]) -> dict[str, Any]:
    read = partial(_read, "task", channels)
    return {"configurable": {CONFIG_KEY_SEND: sent.extend, CONFIG_KEY_READ: read}}


def test_outside_a_graph_there_are_none() -> None:
    assert TaskWrites.of({}) is None


def test_a_command_is_written_to_channels_that_are_there() -> None:
    sent: list[Any] = []
    channels = {"notes": BinaryOperatorAggregate(list, operator.add), "last": LastValue(str)}
    writes = TaskWrites.of(_config(sent, channels))
    assert writes is not None
    writes.write(Command(update={"notes": ["a"], "unknown": 1}, goto=[Send("node", {})]))
    assert ("notes", ["a"]) in sent
    assert "unknown" not in dict(sent)
    assert any(isinstance(value, Send) for _, value in sent)
    reducers = writes.reducers()
    assert list(reducers) == ["notes"]
    assert reducers["notes"](["a"], ["b"]) == ["a", "b"]


class _State(TypedDict, total=False):
    notes: Annotated[list[str], operator.add]


def _graph(node: Callable[[_State], _State]) -> Any:
    graph = StateGraph(_State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=InMemorySaver())


def _hold(note: str) -> None:
    writes = TaskWrites.of(get_config())
    assert writes is not None
    assert writes.node is not None
    writes.write(Command(update={"notes": [note]}))


def test_writes_are_held_back_until_the_node_writes() -> None:
    runs: list[int] = []

    def node(state: _State) -> _State:
        runs.append(1)
        _hold("a")
        _hold("b")
        if len(runs) == 1:
            raise ConnectionError("cut short")
        return {"notes": ["answer"]}

    graph = _graph(node)
    config: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        graph.invoke({}, config)
    assert graph.get_state(config).next == ("node",), "LangGraph takes the task for finished"
    assert graph.invoke(None, config) == {"notes": ["a", "b", "answer"]}


def test_answers_of_a_person_do_not_let_writes_go() -> None:
    runs: list[int] = []

    def node(state: _State) -> _State:
        _hold("a")
        answer = interrupt("?")
        runs.append(1)
        if len(runs) == 1:
            raise ConnectionError("cut short")
        return {"notes": [answer]}

    graph = _graph(node)
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({}, config)
    with pytest.raises(ConnectionError):
        graph.invoke(Command(resume="yes"), config)
    assert graph.get_state(config).next == ("node",), "LangGraph takes the task for finished"
    assert graph.invoke(None, config) == {"notes": ["a", "yes"]}


def test_writes_of_a_copied_configuration_go_at_once() -> None:
    def inside(given: None) -> None:
        writes = TaskWrites.of(config)
        assert writes is not None
        assert writes.node is None
        writes.write(Command(update={"notes": ["a"]}))

    def node(state: _State) -> _State:
        nonlocal config
        config = dict(get_config())
        RunnableLambda(inside).invoke(None)
        return {"notes": ["answer"]}

    config: dict[str, Any] = {}
    given: Any = {"configurable": {"thread_id": "t"}}
    assert _graph(node).invoke({}, given) == {"notes": ["a", "answer"]}
