"""The block in which a call from code runs, inside the scope of the call.

LangGraph makes one task of each tool call of the model, and tells an agent that a tool runs by the
task that runs it: the agent's cause, its end, and the graph that its commands go to. All calls of
an eval run in the task of the eval. So a call with a scope appears in the `tasks` of a stream as a
task of its own, and commands for the graph above the scope are passed on to that of the task.

The test module `test_inner_calls` shows what breaks if LangGraph changes that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import (
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_STREAM,
    NS_END,
    NS_SEP,
)
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand

__all__ = ["inside"]


@contextmanager
def inside(configurable: Mapping[str, Any], eval_id: str = "") -> Iterator[None]:
    """Run the block in the scope with these values, as code that it calls does.

    Middleware around a tool calls `interrupt` outside the tool's own configuration. Events that are
    sent after the block belong to the task again.

    Args:
        configurable: Values of the scope.
        eval_id: The model's id of the eval that makes the call.

    Raises:
        ParentCommand: A graph in the scope sent a command to the graph that runs it.
    """
    before = var_child_runnable_config.get()
    config = before or {}
    task = config.get("configurable", {})
    merged = {**task, **configurable}
    var_child_runnable_config.set({**config, "configurable": merged})
    try:
        with _shown_as_task(merged, eval_id):
            yield
    except ParentCommand as error:
        command = error.args[0]
        if command.graph != merged.get(CONFIG_KEY_CHECKPOINT_NS):
            raise
        graph = task.get(CONFIG_KEY_CHECKPOINT_NS)
        raise ParentCommand(dataclasses.replace(command, graph=graph)) from error
    finally:
        var_child_runnable_config.set(before)


@contextmanager
def _shown_as_task(configurable: Mapping[str, Any], eval_id: str) -> Iterator[None]:
    """Send start and end of the block to a stream that shows the tasks of subgraphs."""
    stream = configurable.get(CONFIG_KEY_STREAM)
    if stream is None or "tasks" not in stream.modes:
        yield
        return
    *graph, place = str(configurable.get(CONFIG_KEY_CHECKPOINT_NS, "")).split(NS_SEP)
    name, _, task = place.partition(NS_END)
    given = {"tool_call": {"type": "tool_call", "id": eval_id}}
    start = {"id": task, "name": name, "input": given, "triggers": []}
    stream((tuple(graph), "tasks", start))
    end: dict[str, Any] = {"id": task, "name": name, "error": None, "interrupts": [], "result": {}}
    try:
        yield
    except GraphInterrupt as error:
        asked = error.args[0] if error.args else ()
        end["interrupts"] = [{"value": one.value, "id": one.id} for one in asked]
        raise
    except GraphBubbleUp:
        raise
    except BaseException as error:
        end["error"] = repr(error)
        raise
    finally:
        stream((tuple(graph), "tasks", end))
