"""The middleware of the agent whose graph runs, as one of them finds the others.

LangChain does not show a middleware its siblings. But each hook of a middleware is a node of the
agent's graph, and the function of that node is a method of the middleware. The configuration of a
running task leads to the graph's nodes.

The test module `test_siblings` shows what breaks if LangChain or LangGraph changes that.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Protocol

from langchain.agents.middleware import AgentMiddleware
from langgraph._internal._constants import CONFIG_KEY_SEND

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.call_scopes import graph_loop

__all__ = ["GraphRun", "graph_run", "middleware_of"]


class GraphRun(Protocol):
    """One run of a graph.

    Attributes:
        nodes: The graph's nodes, by name: the same mapping in every run.
    """

    nodes: Mapping[str, Any]


def graph_run(config: Mapping[str, Any]) -> GraphRun | None:
    """The run of the graph whose task has this configuration; `None` outside of a graph.

    Raises:
        ConfigurationError: The nodes cannot be found, so that rules of middleware which look at
            the model's messages could be bypassed.
    """
    conf = config.get("configurable") or {}
    if CONFIG_KEY_SEND not in conf:
        return None
    loop = graph_loop(conf)
    if loop is not None and isinstance(getattr(loop, "nodes", None), Mapping):
        run: GraphRun = loop
        return run
    raise ConfigurationError(
        "the interpreter cannot find the nodes of the agent's graph, and calls from code could "
        "bypass the approvals and limits of its middleware; use releases of LangChain and "
        "LangGraph that interpstack supports"
    )


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
