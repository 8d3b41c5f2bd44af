"""interpstack for LangChain, LangGraph and deepagents agents."""

from __future__ import annotations

from interpstack_langchain.events import (
    SUBAGENT_STREAM_EVENT_TYPE,
    SubagentCompleteEvent,
    SubagentErrorEvent,
    SubagentStartEvent,
    SubagentStreamEvent,
)
from interpstack_langchain.middleware import CodeInterpreterMiddleware, REPLMiddleware
from interpstack_langchain.options import PTCOption

__all__ = [
    "SUBAGENT_STREAM_EVENT_TYPE",
    "CodeInterpreterMiddleware",
    "PTCOption",
    "REPLMiddleware",
    "SubagentCompleteEvent",
    "SubagentErrorEvent",
    "SubagentStartEvent",
    "SubagentStreamEvent",
]
