"""interpstack for LangChain, LangGraph and deepagents agents."""

# ruff: noqa: E402 - missing packages are named before the imports that need them

from __future__ import annotations

from interpstack_langchain.requirements import check_requirements

check_requirements()

from typing import TYPE_CHECKING, Any

from interpstack_langchain.events import (
    SUBAGENT_STREAM_EVENT_TYPE,
    SubagentCompleteEvent,
    SubagentErrorEvent,
    SubagentStartEvent,
    SubagentStreamEvent,
)
from interpstack_langchain.middleware import CodeInterpreterMiddleware, REPLMiddleware
from interpstack_langchain.options import BackgroundOptions, PTCOption
from interpstack_langchain.stacks import PRESET

if TYPE_CHECKING:
    from interpstack_langchain.js_repl.middleware import JsReplMiddleware

__all__ = [
    "PRESET",
    "SUBAGENT_STREAM_EVENT_TYPE",
    "BackgroundOptions",
    "CodeInterpreterMiddleware",
    "JsReplMiddleware",
    "PTCOption",
    "REPLMiddleware",
    "SubagentCompleteEvent",
    "SubagentErrorEvent",
    "SubagentStartEvent",
    "SubagentStreamEvent",
]


def __getattr__(name: str) -> Any:
    if name != "JsReplMiddleware":  # few agents have that one, which is a package of its own
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from interpstack_langchain.js_repl.middleware import JsReplMiddleware

    return JsReplMiddleware


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
