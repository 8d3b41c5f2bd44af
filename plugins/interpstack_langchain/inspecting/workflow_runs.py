"""Runs of workflows in a checkpointer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack_inspect.api import NotRecorded
from interpstack_langchain.replay.serializers import reading
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore
from interpstack_workflows.api import RunRecord, RunTree

__all__ = ["read_run", "read_runs"]


async def read_runs(saver: BaseCheckpointSaver[Any], limit: int) -> Sequence[RunRecord]:
    """The newest runs of workflows."""
    return await CheckpointWorkflowStore(saver).runs(limit=limit)


async def read_run(saver: BaseCheckpointSaver[Any], run_id: str) -> tuple[RunRecord, RunTree]:
    """A run of a workflow with its steps.

    Raises:
        NotRecorded: There is none of this id.
    """
    store = CheckpointWorkflowStore(saver)
    run = await store.read(run_id)
    if run is None:
        raise NotRecorded(f"there is no run {run_id!r:.200}; it may have been deleted")
    with reading(f"run {run_id!r:.200}"):
        return run, RunTree.of(run, await store.entries(run_id))
