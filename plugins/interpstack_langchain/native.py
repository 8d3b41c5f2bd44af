"""Tools that keep their native return value.

LangChain turns what a tool returns into a message. Code wants the value itself, so inner calls
run a copy of the tool whose class notes the value on its way out; everything else (argument
validation, injection, callbacks, error handling) is the tool's own.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

import attrs
from langchain_core.callbacks import Callbacks
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

__all__ = ["NativeCall", "native_tool", "noting"]


@attrs.define(eq=False)
class NativeCall:
    """One inner call: where its callbacks belong, and what the tool returned.

    Attributes:
        callbacks: Callbacks of the eval under which the call is traced.
        returned: Whether the tool came to its end.
        value: What it returned.
    """

    callbacks: Callbacks = None
    returned: bool = False
    value: Any = None

    def note(self, value: Any) -> Any:
        self.returned, self.value = True, value
        return value


noting: ContextVar[NativeCall] = ContextVar("interpstack_native_call")

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
    # LangChain reads the signatures of `_run` and `_arun`; `wraps` keeps them.
    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
            return noting.get().note(method(self, *args, **kwargs))

        return run

    def anoted(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def run(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
            return noting.get().note(await method(self, *args, **kwargs))

        return run

    def invoke(
        self: BaseTool, given: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        return cls.invoke(self, given, _under(config), **kwargs)

    async def ainvoke(
        self: BaseTool, given: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        return await cls.ainvoke(self, given, _under(config), **kwargs)

    members = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "_run": noted(cls._run),
        "_arun": anoted(cls._arun),
        "invoke": invoke,
        "ainvoke": ainvoke,
    }
    return type(cls.__name__, (cls,), members)


def _under(config: RunnableConfig | None) -> RunnableConfig:
    """The configuration with the eval's callbacks, so that the call is traced below it."""
    callbacks = noting.get().callbacks
    return {**(config or {}), **({"callbacks": callbacks} if callbacks is not None else {})}
