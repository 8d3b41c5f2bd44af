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
from langgraph._internal._constants import CONFIG_KEY_SEND, CONFIG_KEY_TASK_ID

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.call_scopes import graph_loop

__all__ = ["GraphRun", "graph_run", "middleware_of", "step_writes"]


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
