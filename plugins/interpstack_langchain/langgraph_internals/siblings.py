"""The middleware of the agent whose graph runs, and the tasks of its step, found from one of them.

LangChain does not show a middleware its siblings. But each hook of a middleware is a node of the
agent's graph, and the function of that node is a method of the middleware. The configuration of a
running task leads to the graph's nodes, and to the other tasks of its step.

The test module `test_siblings` shows what breaks if LangChain or LangGraph changes that.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Protocol

from langchain.agents.middleware import AgentMiddleware
from langgraph._internal._constants import (
    CONFIG_KEY_SEND,
    CONFIG_KEY_TASK_ID,
    ERROR,
    INTERRUPT,
    PUSH,
    RESUME,
)
from langgraph.errors import GraphInterrupt

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.call_scopes import graph_loop

__all__ = ["GraphRun", "graph_run", "is_coming", "middleware_of", "step_writes"]


class GraphRun(Protocol):
    """One run of a graph.

    Attributes:
        nodes: The graph's nodes, by name: the same mapping in every run.
        tasks: The tasks of the running step, by id.
    """

    nodes: Mapping[str, Any]
    tasks: Mapping[str, Any]


def graph_run(config: Mapping[str, Any]) -> GraphRun | None:
    """The run of the graph whose task has this configuration; `None` outside of a graph.

    Raises:
        ConfigurationError: The nodes or tasks cannot be found, so that rules of middleware which
            look at the model's messages could be bypassed, or variables of another branch be used.
    """
    conf = config.get("configurable") or {}
    if CONFIG_KEY_SEND not in conf:
        return None
    loop = graph_loop(conf)
    if all(isinstance(getattr(loop, name, None), Mapping) for name in ("nodes", "tasks")):
        run: GraphRun = loop
        return run
    raise ConfigurationError(
        "the interpreter cannot find the nodes of the agent's graph or the tasks of its step, and "
        "calls from code could bypass the approvals and limits of its middleware; use releases of "
        "LangChain and LangGraph that interpstack supports"
    )


def step_writes(config: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The writes of the other tasks of the running step so far: channels and values.

    When a step is resumed, LangGraph either hands a finished task its stored writes back, or runs
    the task again: so it does if the thread has moved past the checkpoint. The checkpoint does not
    say which. In both cases it holds the writes of the first run, which belong to the first branch.

    Args:
        config: The configuration of the task.
    """
    run = graph_run(config)
    if run is None:
        return []
    own = config["configurable"].get(CONFIG_KEY_TASK_ID)
    others = [task for key, task in list(run.tasks.items()) if key != own]
    return [write for task in others for write in list(task.writes)]  # other threads may add some


def is_coming(config: Mapping[str, Any], place: int) -> bool | None:
    """Whether the task of a tool call has not ended yet.

    Args:
        config: The configuration of a task of the same step.
        place: The place of the call in its message.

    Returns:
        False if it has ended; `None` if no task of the step is known to be of this call.

    Raises:
        GraphInterrupt: It has failed, or waits for an answer, and runs again later.
    """
    run = graph_run(config)
    if run is None:
        return None
    for key, task in list(run.tasks.items()):
        if tuple(task.path[:2]) != (PUSH, place):
            continue
        channels = {channel for channel, _ in list(task.writes)} - {RESUME}
        if ERROR in channels or _is_interrupted(run, key):
            raise GraphInterrupt(())
        return not channels
    return None


def _is_interrupted(run: Any, task: str) -> bool:
    """Whether a task has ended with a question in this run of its step, not in an earlier one."""
    if task not in getattr(run, "_written_task_ids", ()):
        return False
    return any(key == task and name == INTERRUPT for key, name, _ in run.checkpoint_pending_writes)


def middleware_of(nodes: Mapping[str, Any]) -> tuple[AgentMiddleware[Any, Any, Any], ...]:
    """The middleware whose hooks are nodes of a graph, each once, in the order of the graph."""
    found: dict[int, AgentMiddleware[Any, Any, Any]] = {}
    for node in nodes.values():
        bound = getattr(node, "bound", None)
        for name in ("func", "afunc"):
            function = getattr(bound, name, None)
            owner = getattr(inspect.unwrap(function), "__self__", None) if function else None
            if isinstance(owner, AgentMiddleware):
                found[id(owner)] = owner
    return tuple(found.values())
