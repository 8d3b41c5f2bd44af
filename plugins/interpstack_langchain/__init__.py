"""interpstack for LangChain, LangGraph and deepagents agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack.lazy import lazy_names
from interpstack_langchain.requirements import check_requirements

check_requirements()

if TYPE_CHECKING:
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
else:
    # Commands that read a store of workflows need no agent, which takes seconds to import.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "PRESET": "stacks",
            "SUBAGENT_STREAM_EVENT_TYPE": "events",
            "BackgroundOptions": "options",
            "CodeInterpreterMiddleware": "middleware",
            "PTCOption": "options",
            "REPLMiddleware": "middleware",
            "SubagentCompleteEvent": "events",
            "SubagentErrorEvent": "events",
            "SubagentStartEvent": "events",
            "SubagentStreamEvent": "events",
        },
    )

__all__ = [
    "PRESET",
    "SUBAGENT_STREAM_EVENT_TYPE",
    "BackgroundOptions",
    "CodeInterpreterMiddleware",
    "PTCOption",
    "REPLMiddleware",
    "SubagentCompleteEvent",
    "SubagentErrorEvent",
    "SubagentStartEvent",
    "SubagentStreamEvent",
]
