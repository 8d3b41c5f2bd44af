"""Public names of the plugin."""

from __future__ import annotations

from interpstack_workflows.errors import (
    LeaseLost,
    MetadataError,
    ScriptChanged,
    UnknownAgent,
    UnknownRun,
    UnknownWorkflow,
    WorkflowError,
    WorkflowModuleError,
)

__all__ = [
    "LeaseLost",
    "MetadataError",
    "ScriptChanged",
    "UnknownAgent",
    "UnknownRun",
    "UnknownWorkflow",
    "WorkflowError",
    "WorkflowModuleError",
]
