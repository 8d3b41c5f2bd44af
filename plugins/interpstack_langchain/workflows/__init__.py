"""Workflows over LangGraph: its graphs as agents, and tools of models that write workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack.lazy import lazy_names

if TYPE_CHECKING:
    from interpstack_langchain.workflows.agents.langchain_agent import LangChainAgent
    from interpstack_langchain.workflows.middleware import WorkflowMiddleware
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "LangChainAgent": "agents.langchain_agent",
            "WorkflowMiddleware": "middleware",
        },
    )

__all__ = ["LangChainAgent", "WorkflowMiddleware"]
