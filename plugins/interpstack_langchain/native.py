"""Tools that keep their native return value.

LangChain turns what a tool returns into a message. Code wants the value itself, so inner calls
run a copy of the tool whose class notes the value on its way out; everything else (argument
validation, injection, callbacks, error handling) is the tool's own.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, cast
from weakref import WeakKeyDictionary

import attrs
from langchain_core.callbacks import Callbacks
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

__all__ = ["NativeCall", "native_tool", "noting"]


@attrs.define(eq=False)
class NativeCall:
    """One inner call: where its callbacks belong, and what the tool returned.

    Attributes:
        callbacks: Callbacks of the eval under which the call is traced.
        configurable: Added to the configuration in which the tool runs.
        returned: Whether the tool came to its end.
        value: What it returned.
        told: The content of the message that LangChain made of it, as text.
    """

    callbacks: Callbacks = None
    configurable: Mapping[str, Any] = attrs.field(factory=dict)
    returned: bool = False
    value: Any = None
    told: str | None = None

    def note(self, value: Any) -> Any:
        self.returned, self.value = True, value
        return value

    def note_answer(self, answer: Any) -> Any:
        self.told = as_text(answer.content) if isinstance(answer, ToolMessage) else None
        return answer

    def unchanged(self, message: ToolMessage) -> bool:
        """Whether a message still says what the tool said: middleware may have changed it."""
        return self.returned and self.told == as_text(message.content)


noting: ContextVar[NativeCall] = ContextVar("interpstack_native_call")


def as_text(content: Any) -> str:
    """The content of a message, as the tool node writes what is no text."""
    return (
        content
        if isinstance(content, str)
        else json.dumps(content, ensure_ascii=False, default=repr)
    )


_classes: WeakKeyDictionary[type[BaseTool], type[BaseTool]] = WeakKeyDictionary()


def native_tool(tool: BaseTool) -> BaseTool:
    """A copy of a tool that reports to the `NativeCall` in `noting`."""
    cls = type(tool)
    if cls not in _classes:
        _classes[cls] = _noting_class(cls)
    twin = copy.copy(tool)
    object.__setattr__(twin, "__class__", _classes[cls])
    return twin


def _noting_class(cls: type[BaseTool]) -> type[BaseTool]:
    # LangChain reads signature and annotations of `_run` and `_arun`, anew for each call.
    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
            return noting.get().note(method(self, *args, **kwargs))

        return _with_signature(run, method)

    def anoted(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def run(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
            return noting.get().note(await method(self, *args, **kwargs))

        return _with_signature(run, method)

    def invoke(
        self: BaseTool, given: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        return noting.get().note_answer(cls.invoke(self, given, _under(config), **kwargs))

    async def ainvoke(
        self: BaseTool, given: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        return noting.get().note_answer(await cls.ainvoke(self, given, _under(config), **kwargs))

    members = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "_run": noted(cls._run),
        "_arun": anoted(cls._arun),
        "invoke": invoke,
        "ainvoke": ainvoke,
    }
    return type(cls.__name__, (cls,), members)


def _with_signature(run: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """Resolve once what would be resolved for each call."""
    try:
        run.__annotations__ = typing.get_type_hints(method)
        run.__signature__ = inspect.signature(method)
    except (NameError, TypeError, ValueError):
        return cast("Callable[..., Any]", run)  # as unresolvable as the method's own
    return cast("Callable[..., Any]", run)


def _under(config: RunnableConfig | None) -> RunnableConfig:
    """The configuration of a call: traced below the eval, in the scope of the call."""
    call, merged = noting.get(), RunnableConfig(**(config or {}))
    if call.callbacks is not None:
        merged["callbacks"] = call.callbacks
    if call.configurable:
        merged["configurable"] = {**merged.get("configurable", {}), **call.configurable}
    return merged
