"""interpstack for LangChain, LangGraph and deepagents agents."""

# ruff: noqa: E402 - missing packages are named before the imports that need them

from __future__ import annotations

from interpstack_langchain.requirements import check_requirements

check_requirements()

from interpstack_langchain.events import (
    SUBAGENT_STREAM_EVENT_TYPE,
    SubagentCompleteEvent,
    SubagentErrorEvent,
    SubagentStartEvent,
    SubagentStreamEvent,
)
from interpstack_langchain.js_repl.middleware import JsReplMiddleware
from interpstack_langchain.middleware import CodeInterpreterMiddleware, REPLMiddleware
from interpstack_langchain.options import BackgroundOptions, PTCOption
from interpstack_langchain.stacks import PRESET

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
