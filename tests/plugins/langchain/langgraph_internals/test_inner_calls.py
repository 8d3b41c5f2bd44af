"""What `inner_calls.py` needs of LangGraph's internals, each with what breaks without it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphInterrupt, ParentCommand
from langgraph.graph import END, START, StateGraph
from langgraph.pregel.protocol import StreamProtocol
from langgraph.types import Command, Interrupt
from typing_extensions import TypedDict

from interpstack_langchain.langgraph_internals.inner_calls import inside

SCOPE = "above:0|tools:1:call:2"


def configured(modes: set[str]) -> tuple[list[Any], dict[str, Any]]:
    """What is sent to a stream, and the values of a scope that has it."""
    sent: list[Any] = []
    stream = StreamProtocol(sent.append, modes)  # type: ignore[arg-type]
    return sent, {"checkpoint_ns": SCOPE, "__pregel_stream": stream}


def ends(error: BaseException | None) -> dict[str, Any]:
    """The end of a block that raised an error, as a stream of tasks shows it."""
    sent, values = configured({"tasks"})
    with suppress(ValueError, GraphInterrupt, ParentCommand), inside(values, "eval 1"):
        if error is not None:
            raise error
    (graph, mode, start), (*_, end) = sent
    assert (graph, mode, start["name"]) == (("above:0",), "tasks", "tools")
    assert start["input"]["tool_call"]["id"] == "eval 1"
    assert end["id"] == start["id"] == "1:call:2"
    return {"error": end["error"], "interrupts": end["interrupts"]}


def test_a_stream_of_tasks_shows_a_call_as_a_task_of_its_own() -> None:
    assert ends(None) == {"error": None, "interrupts": []}
    assert ends(ValueError("bad")) == {"error": "ValueError('bad')", "interrupts": []}
    asked = GraphInterrupt((Interrupt("sure?", "5"),))
    assert ends(asked) == {"error": None, "interrupts": [{"value": "sure?", "id": "5"}]}
    assert ends(ParentCommand(Command())) == {"error": None, "interrupts": []}


@pytest.mark.parametrize("modes", [set(), {"messages", "custom"}])
def test_other_streams_are_left_alone(modes: set[str]) -> None:
    sent, values = configured(modes)
    with inside(values):
        assert sent == []
    with inside({"checkpoint_ns": SCOPE}):  # no stream at all
        assert sent == []


def test_the_block_has_the_values_of_its_scope_and_the_task_its_own_after_it() -> None:
    task: Any = {"configurable": {"a": 1, "b": 2}}
    token = var_child_runnable_config.set(task)
    try:
        with inside({"b": 3}):
            assert (var_child_runnable_config.get() or {})["configurable"] == {"a": 1, "b": 3}
        assert var_child_runnable_config.get() is task
    finally:
        var_child_runnable_config.reset(token)


class State(TypedDict):
    got: str


def handing_over(beside: str) -> Any:
    """A graph with a node that runs a graph in a scope, which hands over to the one above it."""

    def below(state: State) -> Command[Any]:
        return Command(graph=Command.PARENT, update={"got": "from below"})

    inner = StateGraph(State)
    inner.add_node("below", below)
    inner.add_edge(START, "below")
    compiled = inner.compile()

    def node(state: State) -> State:
        config = var_child_runnable_config.get() or {}
        at = config["configurable"]["checkpoint_ns"]
        with inside({"checkpoint_ns": f"{at}{beside}call:1"}):
            return compiled.invoke(state)  # type: ignore[return-value]

    outer = StateGraph(State)
    outer.add_node("node", node)
    outer.add_edge(START, "node")
    outer.add_edge("node", END)
    return outer.compile()


@pytest.mark.parametrize("beside", [":", "|"])
def test_a_command_for_the_graph_above_reaches_it(beside: str) -> None:
    found = handing_over(beside).invoke({"got": ""})
    assert found == {"got": "from below"}, "a hand-over of a subagent of code ends the agent's run"


def test_a_command_for_another_graph_is_passed_on() -> None:
    command: Command[Any] = Command(graph="elsewhere")
    with pytest.raises(ParentCommand) as raised, inside({"checkpoint_ns": SCOPE}):
        raise ParentCommand(command)
    assert raised.value.args[0] is command
