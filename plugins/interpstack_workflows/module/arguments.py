"""Check the arguments of workflows against the schema in their metadata, before their code runs."""

from __future__ import annotations

import asyncio
from typing import Any

from interpstack_workflows.agents.answers import AnswerSchema, SchemaFault
from interpstack_workflows.errors import ArgumentsError, MetadataError
from interpstack_workflows.module.metadata import WorkflowMetadata
from interpstack_workflows.steps.host_values import plain_json

__all__ = ["arguments_schema", "check_arguments"]


def arguments_schema(metadata: WorkflowMetadata) -> AnswerSchema | None:
    """The schema of a workflow's arguments; `None` if it takes any. Blocks for up to 2 seconds.

    Raises:
        MetadataError: The `argsSchema` of the workflow cannot be used.
    """
    if metadata.args_schema is None:
        return None
    try:
        return AnswerSchema(metadata.args_schema, "meta.argsSchema")
    except SchemaFault as error:
        raise MetadataError(f"{metadata.name}: {error}") from error


async def check_arguments(metadata: WorkflowMetadata, args: Any, *, exact: bool = False) -> Any:
    """Check the arguments that a workflow is to get, and return a copy of them as plain JSON.

    Args:
        metadata: The metadata of the workflow.
        args: Its arguments.
        exact: Whether to refuse whole numbers that a script would get as other ones.

    Raises:
        ArgumentsError: The arguments are not JSON, too large or too deep, or do not match the
            workflow's `argsSchema`.
        MetadataError: Its `argsSchema` cannot be used.
    """
    try:
        args = plain_json(args, exact=exact)
    except ValueError as error:
        raise ArgumentsError(f"The arguments of workflow {metadata.name!r}: {error}") from error
    schema = await asyncio.to_thread(arguments_schema, metadata)
    if schema is None:
        return args
    if faults := await schema.faults(args):
        raise ArgumentsError(
            f"The arguments of workflow {metadata.name!r} do not match its argsSchema: "
            f"{'; '.join(faults)}"
        )
    return args
