"""Tools that keep their native return value.

LangChain turns the result of a tool into a message. Code needs the value itself, so inner calls run
a copy of the tool whose class notes the value on its way out; everything else (argument validation,
injection, callbacks, error handling) is the tool's own.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from contextvars import Token
from typing import Any, cast
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.prebuilt.tool_node import ToolCallRequest

from interpstack_langchain.tools.native_calls import running_native_call
from interpstack_langchain.tools.sync_tools import run_blocking

__all__ = ["native_tool", "with_native_tool", "without_blocking_form", "wraps_tool"]


#: The attribute in which a copy of a tool caches, by set of argument names, the names that
#: callbacks see.
_VISIBLE_NAMES = "_interpstack_visible_names"
_KNOWN_INPUTS = 64
#: The attribute in which a copy keeps the tool that it was made of.
_ORIGINAL = "_interpstack_tool"

_classes: WeakKeyDictionary[type[BaseTool], type[BaseTool]] = WeakKeyDictionary()


def native_tool(tool: BaseTool) -> BaseTool:
    """Wrap a tool: return a copy that reports to the `NativeCall` in `running_native_call`."""
    cls = type(tool)
    if cls not in _classes:
        _classes[cls] = _noting_class(cls)
    wrapped = copy.copy(tool)
    object.__setattr__(wrapped, "__class__", _classes[cls])
    wrapped.__dict__[_VISIBLE_NAMES] = {}
    wrapped.__dict__[_ORIGINAL] = tool
    if isinstance(tool, (StructuredTool, Tool)):
        wrapped.__dict__["func"] = _resolved(tool.func)
        wrapped.__dict__["coroutine"] = _resolved(tool.coroutine)
    return wrapped


def wraps_tool(wrapped: BaseTool, tool: BaseTool) -> bool:
    """Whether a wrapped tool was made of a tool whose attributes have not changed since."""
    if wrapped.__dict__.get(_ORIGINAL) is not tool:
        return False
    mine, own = wrapped.__pydantic_private__ or {}, tool.__pydantic_private__ or {}
    if mine.keys() != own.keys() or any(mine[name] is not own[name] for name in own):
        return False
    fields = type(tool).model_fields
    return all(_is_from(wrapped.__dict__.get(name), tool.__dict__.get(name)) for name in fields)


def _is_from(mine: Any, own: Any) -> bool:
    """Whether a copy's attribute is the tool's own, or wraps the tool's function."""
    return mine is own or (callable(own) and getattr(mine, "__wrapped__", None) is own)


def without_blocking_form(wrapped: BaseTool) -> BaseTool:
    """Return a copy of a wrapped tool that always runs by its async form, if it has one."""
    if not isinstance(wrapped, (StructuredTool, Tool)) or wrapped.coroutine is None:
        return wrapped
    made = copy.copy(wrapped)
    made.__dict__["func"] = None
    return made


def with_native_tool(request: ToolCallRequest) -> ToolCallRequest:
    """A request of code whose tool reports its call, also where middleware put in another tool."""
    tool = request.tool
    if tool is None or _ORIGINAL in tool.__dict__:
        return request
    return request.override(tool=native_tool(tool))


def _resolved(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A function with its signature and annotations resolved: LangChain reads them each time."""
    if function is None:
        return None
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, ValueError):
        return function  # as unresolvable as for the tool
    # Names in a signature that is set would be looked up in this module.
    named = signature.parameters.values()
    parameters = [one.replace(annotation=hints.get(one.name, one.annotation)) for one in named]
    signature = signature.replace(parameters=parameters)
    run = _awaiting(function) if inspect.iscoroutinefunction(function) else _calling(function)
    # The others are neither configurations nor injected, and no schema is made of the copy.
    relevant = {name: hint for name, hint in hints.items() if not _is_plain(name, hint)}
    return _showing(run, signature, relevant)


def _is_plain(name: str, hint: Any) -> bool:
    """Whether an annotation says nothing but that the argument is a value of a built-in type."""
    return name == "return" or (type(hint) is type and hint.__module__ == "builtins")


def _awaiting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    return run


def _calling(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return run


def _showing(
    function: Any, signature: inspect.Signature, hints: dict[str, Any]
) -> Callable[..., Any]:
    function.__signature__, function.__annotations__ = signature, hints
    return cast("Callable[..., Any]", function)


def _noting_class(cls: type[BaseTool]) -> type[BaseTool]:
    def noted(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        call = running_native_call.get()
        with call.working():
            try:
                return call.note(run_blocking(self, cls, args, kwargs, call.stoppable))
            except StopIteration as error:  # which no future, and so no thread, can pass on
                raise RuntimeError(f"the tool raised {error!r}") from error

    async def anoted(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        return running_native_call.get().note(await cls._arun(self, *args, **kwargs))

    def get_input_schema(self: BaseTool, config: RunnableConfig | None = None) -> Any:
        # Without a schema of its own, it is read from `_run`, which only looks like the tool's.
        return self.__dict__[_ORIGINAL].get_input_schema(config)

    members = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        **_invoking(cls),
        "get_input_schema": get_input_schema,
    }
    if hasattr(cls, "_filter_injected_args"):
        members["_filter_injected_args"] = _filter_of(cls)
    made = type(cls.__name__, (cls,), members)
    # Not among the members: pydantic would take them for private attributes.
    type.__setattr__(made, "_run", _Method(noted, cls._run))
    if cls._arun is not BaseTool._arun:  # noqa: SLF001 - that one goes on to `_run`
        type.__setattr__(made, "_arun", _Method(anoted, cls._arun))
    return made


def _invoking(cls: type[BaseTool]) -> dict[str, Any]:
    """Methods that run a tool of this class, and note its answer."""

    def invoke(
        self: BaseTool, given: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        under = _under(config)
        token = _alone(cls.invoke, under)
        try:
            answer = cls.invoke(self, given, under, **kwargs)
        finally:
            _not_alone(token)
        return running_native_call.get().note_answer(answer)

    async def ainvoke(
        self: BaseTool, given: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        under = _under(config)
        token = _alone(cls.ainvoke, under)
        try:
            answer = await cls.ainvoke(self, given, under, **kwargs)
        finally:
            _not_alone(token)
        return running_native_call.get().note_answer(answer)

    return {"invoke": invoke, "ainvoke": ainvoke}


def _filter_of(cls: type[BaseTool]) -> Callable[..., dict[str, Any]]:
    """A tool class whose callbacks do not receive injected arguments.

    Which they are depends on the tool and on the names alone, yet LangChain finds out anew for
    each call.
    """

    def filtered(self: BaseTool, given: dict[str, Any]) -> dict[str, Any]:
        known, names = self.__dict__[_VISIBLE_NAMES], tuple(given)
        visible = known.get(names)
        if visible is not None:
            return {name: given[name] for name in visible}
        found = cls._filter_injected_args(self, given)
        if len(known) < _KNOWN_INPUTS:
            known[names] = list(found)
        return found

    return filtered


class _Method:
    """A method around another one, with that one's signature.

    LangChain reads the signature and the annotations of `_run` and `_arun` anew for each call.
    So they are resolved once, and shown by a `_Bound`, which is faster to read than a method.
    """

    def __init__(self, run: Callable[..., Any], method: Callable[..., Any]) -> None:
        self._run = functools.wraps(method)(run)
        self._shown: tuple[inspect.Signature, dict[str, Any]] | None = None
        # What cannot be resolved is left to be read from the method itself.
        with suppress(NameError, TypeError, ValueError):
            signature, hints = inspect.signature(method), typing.get_type_hints(method)
            _, *parameters = signature.parameters.values()
            if method.__module__.startswith("langchain_core."):
                # No schema is made of them; only this annotation is looked for.
                parameters = [p.replace(annotation=hints.get(p.name, Any)) for p in parameters]
                hints = {name: hint for name, hint in hints.items() if hint is RunnableConfig}
            self._shown = signature.replace(parameters=parameters), hints

    def __get__(self, tool: BaseTool | None, owner: type[BaseTool]) -> Callable[..., Any]:
        if tool is None:
            return self._run
        if self._shown is None:
            return types.MethodType(self._run, tool)
        return _Bound(self._run, tool, *self._shown)


class _Bound:
    """A `_Method` of one tool; made several times for each call."""

    __slots__ = ("__annotations__", "__signature__", "_run", "_tool")

    def __init__(
        self,
        run: Callable[..., Any],
        tool: BaseTool,
        signature: inspect.Signature,
        hints: dict[str, Any],
    ) -> None:
        self._run, self._tool = run, tool
        self.__signature__, self.__annotations__ = signature, hints

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(self._tool, *args, **kwargs)


def _alone(method: Callable[..., Any], config: RunnableConfig) -> Token[Any] | None:
    """Keep a configuration from being merged with the eval's, which LangChain would do twice.

    The one is made from the other, so this changes nothing but the time it takes. A tool with a
    method of its own may read the eval's configuration, though.

    Returns:
        For `_not_alone`, to be called at the end.
    """
    if "metadata" not in config or not method.__module__.startswith("langchain_core."):
        return None
    # What `get_config` and `get_stream_writer` of LangGraph need stays, for callback handlers.
    left: RunnableConfig = {"configurable": config.get("configurable", {})}
    return var_child_runnable_config.set(left)


def _not_alone(token: Token[Any] | None) -> None:
    if token is not None:
        var_child_runnable_config.reset(token)


def _under(config: RunnableConfig | None) -> RunnableConfig:
    """The configuration of a call: traced below the eval, in the scope of the call."""
    call, merged = running_native_call.get(), RunnableConfig(**(config or {}))
    if call.callbacks is not None:
        merged["callbacks"] = call.callbacks
    if call.configurable:
        merged["configurable"] = {**merged.get("configurable", {}), **call.configurable}
    return merged
