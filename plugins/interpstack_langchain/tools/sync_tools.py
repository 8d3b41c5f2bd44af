"""Tools that have only an async form, in a graph that runs synchronously."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.tools import BaseTool, StructuredTool, Tool

from interpstack import run_sync

__all__ = ["run_blocking"]


#: Makes a coroutine that awaits another one, and can be cancelled.
_Stoppable = Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]]


def run_blocking(
    tool: BaseTool,
    cls: type[BaseTool],
    args: Any,
    kwargs: Mapping[str, Any],
    stoppable: _Stoppable,
) -> Any:
    """Run a tool for a synchronous caller, by its async form where that is the only one.

    All coroutines run on one loop of the process, so that connections that a tool keeps open from
    call to call belong to one loop.

    Args:
        tool: The tool.
        cls: The tool's class, whose methods are called.
        args: Positional arguments of `_run`.
        kwargs: The tool's keyword arguments.
        stoppable: Makes the coroutine to run of the tool's own.
    """
    if isinstance(tool, (StructuredTool, Tool)):
        alone = tool.func is None and tool.coroutine is not None
        run: Callable[..., Any] = _awaiting(cls, stoppable) if alone else cls._run
        return run(tool, *args, **kwargs)
    try:
        return cls._run(tool, *args, **kwargs)
    except NotImplementedError as error:
        if cls._arun is BaseTool._arun or not _is_a_refusal(error):  # noqa: SLF001 - no other name
            raise
    return _awaiting(cls, stoppable)(tool, *args, **kwargs)


def _awaiting(cls: type[BaseTool], stoppable: _Stoppable) -> Callable[..., Any]:
    def run(tool: BaseTool, *args: Any, **kwargs: Any) -> Any:
        manager = kwargs.get("run_manager")
        if isinstance(manager, CallbackManagerForToolRun):
            kwargs["run_manager"] = _async_manager(manager)
        return run_sync(stoppable(cls._arun(tool, *args, **kwargs)))

    return run


def _is_a_refusal(error: NotImplementedError) -> bool:
    """Whether `_run` itself raised; an exception from deeper code may follow an effect."""
    trace = error.__traceback__  # the frame that caught it, then that of `_run`
    return trace is not None and trace.tb_next is not None and trace.tb_next.tb_next is None


def _async_manager(manager: CallbackManagerForToolRun) -> AsyncCallbackManagerForToolRun:
    return AsyncCallbackManagerForToolRun(
        run_id=manager.run_id,
        handlers=manager.handlers,
        inheritable_handlers=manager.inheritable_handlers,
        parent_run_id=manager.parent_run_id,
        tags=manager.tags,
        inheritable_tags=manager.inheritable_tags,
        metadata=manager.metadata,
        inheritable_metadata=manager.inheritable_metadata,
    )
