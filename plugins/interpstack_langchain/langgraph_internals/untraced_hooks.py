"""Model calls and tool calls through middleware without threads, while LangSmith traces nothing.

LangChain wraps `wrap_model_call` and `wrap_tool_call` of a middleware in LangSmith's `traceable`,
which begins and ends a span in a thread, even if tracing is off: six of the eleven hops to a thread
of a turn with one eval. LangSmith's `set_runtime_overrides` is made for runtimes that want none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any

import langsmith
from langsmith.utils import tracing_is_enabled

get_runtime_overrides: Callable[[], Any] | None
try:  # the setter is public, and the getter is not
    from langsmith._runtime_overrides import get_runtime_overrides
except ImportError:  # another release
    get_runtime_overrides = None

__all__ = ["run_untraced_hooks_in_place"]


def run_untraced_hooks_in_place() -> bool:
    """Let LangSmith begin and end traces without a thread while tracing is off.

    This holds for the whole process. Where the program has an override of its own, or where a
    release of LangSmith does not say, nothing changes.

    Returns:
        Whether LangSmith runs so now.
    """
    if get_runtime_overrides is None:
        return False
    if get_runtime_overrides().aio_to_thread is None:
        langsmith.set_runtime_overrides(aio_to_thread=_in_place_if_untraced)
    return get_runtime_overrides().aio_to_thread is _in_place_if_untraced


async def _in_place_if_untraced(
    default: Callable[..., Awaitable[Any]],
    context: Context,
    function: Callable[..., Any],
    /,
    *given: Any,
    **named: Any,
) -> Any:
    if context.run(tracing_is_enabled):
        return await default(context, function, *given, **named)
    return context.run(function, *given, **named)
