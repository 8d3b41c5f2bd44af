"""Workflows over LangGraph: runs in a checkpointer."""

from __future__ import annotations

from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore

__all__ = ["CheckpointWorkflowStore"]
