"""The whole chain of `wrap_tool_call` around the tools of an agent.

LangChain composes the `wrap_tool_call` of all middleware into one function, and gives it to the
agent's tool node. A middleware only receives a handler for the part of the chain behind it. A call
from code must pass the middleware in front as well, which may be there to refuse it. So the chain
is taken from the tool node, to which the innermost handler belongs.

The test module `test_tool_chains` shows what breaks if LangChain or LangGraph changes that.
"""

from __future__ import annotations

import inspect
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any, Final

from langchain.agents import factory
from langgraph.prebuilt import tool_node
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolNode
from langsmith import get_current_run_tree

from interpstack import ConfigurationError

__all__ = ["variables_around", "whole_chain"]

#: Functions that are looked through for the tool node's own handler; each middleware adds one.
_MOST: Final = 1000

_Handler = Callable[[ToolCallRequest], Any]


def whole_chain(
    handler: _Handler,
    own: Callable[..., Any],
    prepare: Callable[[ToolCallRequest], ToolCallRequest],
    *,
    is_async: bool,
) -> _Handler:
    """A handler that runs a tool call as the tool node does: through all of its middleware.

    Left out are `own`, because LangChain's tracing makes each method of a chain slow, and deep
    agents' `FilesystemMiddleware` in front of it, which moves long answers to files to spare the
    model's context: code takes them whole, and only its result goes to the model. In a run that is
    not traced, the tracing around all other methods is left out, too.

    Args:
        handler: The handler that a middleware received.
        own: The middleware's method, which passes such calls on unchanged.
        prepare: Changes each request after all middleware, before the tool runs.
        is_async: Whether the middleware received it in `awrap_tool_call`.

    Raises:
        ConfigurationError: The handler is of no tool node, so that a middleware in front, which
            may be there to refuse calls, could be bypassed.
    """
    execute, node = _innermost(handler)
    parts = list(_parts(node._awrap_tool_call if is_async else node._wrap_tool_call))  # noqa: SLF001
    methods = [inspect.unwrap(part) for part in parts]
    at = methods.index(own) if own in methods else -1
    kept = [
        part
        for number, (part, method) in enumerate(zip(parts, methods, strict=True))
        if number != at and not (number < at and _spares_context(method))
    ]

    def run(request: ToolCallRequest) -> Any:
        return execute(prepare(request))

    # The hook that calls this is traced itself where anything is, and so stands in a run tree.
    traced = not is_async or get_current_run_tree() is not None
    whole: _Handler = run
    for part in reversed(kept):
        whole = _inside(part if traced else _untraced(part), whole)
    return whole


def _untraced(part: Callable[..., Any]) -> Callable[..., Any]:
    """A middleware's method without LangChain's tracing around it.

    Where nothing is traced, the tracing of an async method still takes two hops to a thread.
    """
    method = getattr(part, "__wrapped__", None)
    traced = isinstance(part, FunctionType) and getattr(part, "__langsmith_traceable__", False)
    return method if traced and isinstance(method, MethodType) else part


def _inside(part: Callable[..., Any], handler: _Handler) -> _Handler:
    """A handler that runs a method; a function, so that another interpreter looks through it."""
    return lambda request: part(request, handler)


def _parts(chain: Any) -> Iterator[Callable[..., Any]]:
    """The methods of a chain that LangChain composed, the first outermost."""
    while chain is not None:
        cells = variables_around(chain)
        composed = getattr(chain, "__module__", "") == factory.__name__
        if not composed or {*cells} != {"outer", "inner"}:
            yield chain
            return
        yield cells["outer"]
        chain = cells["inner"]


def _spares_context(method: Any) -> bool:
    """Whether a method is the one by which deep agents spare the model's context long answers."""
    module = sys.modules.get("deepagents.middleware.filesystem")
    if module is None:  # no agent can have it
        return False
    kind = module.FilesystemMiddleware
    return getattr(method, "__func__", None) in (kind.wrap_tool_call, kind.awrap_tool_call)


def _innermost(handler: _Handler) -> tuple[_Handler, ToolNode]:
    """The tool node's own handler behind a middleware's, and the tool node."""
    left, seen = deque[Any]([handler]), set[int]()
    while left and len(seen) < _MOST:
        function = left.popleft()
        if id(function) in seen:
            continue
        seen.add(id(function))
        cells = variables_around(function)
        node = cells.get("self")
        if isinstance(node, ToolNode) and function.__module__ == tool_node.__name__:
            return function, node
        left += [value for value in cells.values() if callable(value)]
    raise ConfigurationError(
        "the interpreter cannot find the agent's tool node behind the handler of wrap_tool_call, "
        "and calls from code could bypass the middleware in front of it; pass the handler on as "
        "LangChain made it, or in a function around it, and use releases of LangChain and "
        "LangGraph that interpstack supports"
    )


def variables_around(function: Any) -> Mapping[str, Any]:
    """The variables that a function has from the functions around it, by name."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found: dict[str, Any] = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    return found
