"""Subagents that cannot run synchronously: a tool or a step of theirs has only an async form.

The test module `test_async_only` shows what breaks if LangGraph or deep agents change what is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final

from langchain_core.runnables import RunnableLambda, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph._internal._runnable import RunnableCallable, RunnableSeq
from langgraph.prebuilt.tool_node import ToolNode
from langgraph.pregel import Pregel

__all__ = ["only_async", "subagents_of"]

#: Graphs inside graphs that are looked into.
_MOST_DEPTH: Final = 20


def subagents_of(task: BaseTool) -> Mapping[str, Any]:
    """The subagents of deep agents' `task` tool, by kind; none for another tool of that name."""
    function = inspect.unwrap(task.func) if isinstance(task, StructuredTool) and task.func else None
    if function is None or not inspect.isfunction(function):
        return {}
    found = inspect.getclosurevars(function).nonlocals.get("subagent_graphs")
    return found if isinstance(found, Mapping) else {}


def only_async(runnable: Any, depth: int = 0) -> bool:
    """Whether part of a runnable has only an async form, so that its synchronous run would fail.

    Args:
        runnable: A graph or any other runnable.
        depth: How deep the runnable lies in the one that was asked about.
    """
    if isinstance(runnable, RunnableCallable) and not isinstance(runnable, ToolNode):
        return runnable.func is None and runnable.afunc is not None
    if isinstance(runnable, RunnableLambda):
        return not hasattr(runnable, "func")
    if isinstance(runnable, ToolNode):
        return any(map(_only_async_tool, runnable.tools_by_name.values()))
    return depth < _MOST_DEPTH and any(only_async(one, depth + 1) for one in _parts(runnable))


def _parts(runnable: Any) -> Iterable[Any]:
    if isinstance(runnable, Pregel):
        return [node.bound for node in runnable.nodes.values()]
    if isinstance(runnable, (RunnableSequence, RunnableSeq)):
        return runnable.steps
    return [runnable.bound] if isinstance(runnable, RunnableBindingBase) else []


def _only_async_tool(tool: BaseTool) -> bool:
    return isinstance(tool, (StructuredTool, Tool)) and tool.func is None and bool(tool.coroutine)
