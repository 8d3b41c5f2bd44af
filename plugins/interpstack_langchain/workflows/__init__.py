"""Workflows over LangGraph: runs in a checkpointer, and tools of models that write workflows."""

from __future__ import annotations

from interpstack_langchain.workflows.agents.langchain_agent import LangChainAgent
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore
from interpstack_langchain.workflows.middleware import WorkflowMiddleware

__all__ = ["CheckpointWorkflowStore", "LangChainAgent", "WorkflowMiddleware"]
