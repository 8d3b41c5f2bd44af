"""Child workflows: which script a call means, how deep it may lie, and that none calls itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from interpstack_workflows.errors import ArgumentsError, MetadataError, UnknownWorkflow
from interpstack_workflows.module.arguments import check_arguments
from interpstack_workflows.module.metadata import WorkflowMetadata
from interpstack_workflows.runs.catalog import metadata_of
from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.values import ScopePlace, Script, phases_of
from interpstack_workflows.runtime.boundary import ScriptPath, WorkflowRequest

__all__ = ["child_place"]


async def child_place(
    parts: RunParts,
    parent: ScopePlace,
    request: WorkflowRequest,
    name: str,
    started: Mapping[str, Any] | None,
    spent: int = 0,
) -> ScopePlace:
    """Return the scope of a child that a script calls.

    Args:
        parts: Knows the workflows, and how deep they may lie.
        parent: The scope that calls.
        request: The call.
        name: The name of its step.
        started: The record of the child's beginning: it continues with the script of that time.
        spent: What the run has spent so far.

    Raises:
        StepFailed: No workflow has this name, it does not take the arguments, the calls are too
            deep, or they form a cycle.
    """
    script = _recorded(started) if started is not None else _found(parts, parent, request)
    metadata = await _metadata(script)
    if started is None:
        await _check_arguments(metadata, request.args)
    script = attrs.evolve(script, name=script.name or metadata.name)
    names = (*parent.names, script.name)
    if script.name in parent.names:
        chain = " → ".join(names)
        raise StepFailed(f"Workflow calls may not form a cycle: {chain}", "WorkflowCycle")
    if len(names) > parts.max_depth:
        raise StepFailed(
            f"Workflow calls may be nested {parts.max_depth} deep: {' → '.join(names)};"
            " the runner's max_depth allows more",
            "WorkflowDepth",
        )
    return ScopePlace(
        scope=parent.child(name),
        script=script,
        args=request.args,
        names=names,
        phases=phases_of(metadata.raw),
        spent=started["spent"] if started is not None else spent,
    )


def _found(parts: RunParts, parent: ScopePlace, request: WorkflowRequest) -> Script:
    try:
        if isinstance(request.ref, ScriptPath):
            return parts.catalog.beside(parent.script, request.ref.path)
        return parts.catalog.named(request.ref)
    except UnknownWorkflow as error:
        raise StepFailed(str(error), "UnknownWorkflow") from error


async def _metadata(script: Script) -> WorkflowMetadata:
    try:
        return await metadata_of(script)
    except MetadataError as error:
        raise StepFailed(str(error), "MetadataError") from error


async def _check_arguments(metadata: WorkflowMetadata, args: Any) -> None:
    try:
        await check_arguments(metadata, args)
    except MetadataError as error:
        raise StepFailed(str(error), "MetadataError") from error
    except ArgumentsError as error:
        raise StepFailed(str(error), "ArgumentsError") from error


def _recorded(started: Mapping[str, Any]) -> Script:
    path = started["path"]
    return Script(
        started["source"], started["source_name"], Path(path) if path else None, started["name"]
    )
