"""Whose variables an eval sees: the conversation, and the subgraph in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config

from interpstack_langchain.state.graph_state import turn_of

__all__ = ["as_mapping", "configurable", "owner_of", "passes", "running_graph", "turn_key"]


def owner_of(state: Mapping[str, Any], graph: str | None = None) -> str:
    """Identifies a conversation: its thread, and the subgraph in it.

    Args:
        state: The state of the graph.
        graph: The graph, if it is not the one that runs now.
    """
    thread = configurable().get("thread_id")
    if thread is None:
        return f"run:{turn_of(state)}"
    return f"thread:{thread}|{running_graph() if graph is None else graph}"


def turn_key(state: Mapping[str, Any], graph: str | None = None) -> str:
    """Identifies the turn among all turns; see `owner_of`."""
    return f"{owner_of(state, graph)}|{turn_of(state)}"


def passes(owner: str) -> bool:
    """Whether a conversation ends with its turn."""
    # A subgraph without a state of its own has the task that runs it in its name.
    return ":" in running_graph() or owner.startswith("run:")


def as_mapping(state: Any) -> Mapping[str, Any]:
    """A graph's state; empty where it is another kind of object."""
    return state if isinstance(state, Mapping) else {}


def running_graph() -> str:
    """The graph that runs now, as a checkpoint namespace; empty for the outermost."""
    namespace = str(configurable().get("checkpoint_ns", ""))
    # The last part names the node of this step; the parts before name the graph.
    return namespace.rpartition("|")[0]


def configurable() -> Mapping[str, Any]:
    """The values with which the running graph was started; empty outside of a graph."""
    config = var_child_runnable_config.get() or {}
    return config.get("configurable") or {}
