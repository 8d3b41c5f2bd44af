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
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import (
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_STREAM,
    NS_END,
    NS_SEP,
)
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand

__all__ = ["inside"]


class inside:  # noqa: N801 - a block, written out because each call from code enters one
    """Run the block in the scope with these values, as code that it calls does.

    Middleware around a tool calls `interrupt` outside the tool's own configuration. Events that are
    sent after the block belong to the task again.

    Args:
        configurable: Values of the scope.
        eval_id: The model's id of the eval that makes the call.

    Raises:
        ParentCommand: A graph in the scope sent a command to the graph that runs it.
    """

    __slots__ = ("_before", "_configurable", "_eval_id", "_shown")

    def __init__(self, configurable: Mapping[str, Any], eval_id: str = "") -> None:
        self._configurable, self._eval_id = configurable, eval_id
        self._before = var_child_runnable_config.get()
        self._shown: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        before: RunnableConfig = self._before or {}
        merged = {**before.get("configurable", {}), **self._configurable}
        var_child_runnable_config.set({**before, "configurable": merged})
        stream = merged.get(CONFIG_KEY_STREAM)
        if stream is not None and "tasks" in stream.modes:
            self._shown = _shown_as_task(stream, merged, self._eval_id)
            self._shown.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            if self._shown is not None:
                self._shown.__exit__(kind, error, trace)
            if isinstance(error, ParentCommand):
                self._pass_on(error)
        finally:
            var_child_runnable_config.set(self._before)

    def _pass_on(self, error: ParentCommand) -> None:
        """Send a command for the graph above the scope to the graph above the task."""
        command, of_task = error.args[0], (self._before or {}).get("configurable", {})
        graph = of_task.get(CONFIG_KEY_CHECKPOINT_NS)
        if command.graph == self._configurable.get(CONFIG_KEY_CHECKPOINT_NS, graph):
            raise ParentCommand(dataclasses.replace(command, graph=graph)) from error


@contextmanager
def _shown_as_task(stream: Any, configurable: Mapping[str, Any], eval_id: str) -> Iterator[None]:
    """Send start and end of the block to a stream that shows the tasks of subgraphs."""
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
