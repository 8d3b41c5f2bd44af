"""Checks of workflow files, before anything of them runs for good."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from interpstack import InterpreterStack
from interpstack_workflows.errors import WorkflowError, WorkflowModuleError
from interpstack_workflows.module.arguments import arguments_schema
from interpstack_workflows.module.metadata import read_metadata
from interpstack_workflows.runs.catalog import Catalog
from interpstack_workflows.runs.host_modules import read_modules
from interpstack_workflows.runs.reading.rehearsal import ScriptFault
from interpstack_workflows.runs.runner import WorkflowRunner
from interpstack_workflows.runtime.boundary import WorkflowModuleInput
from interpstack_workflows.runtime.runtime import WorkflowRuntime

__all__ = ["checked"]

#: Faults of calls of other workflows; others may come from a stand-in for an answer.
_OF_CHILDREN: Final = ("MetadataError", "UnknownWorkflow", "WorkflowCycle", "WorkflowDepth")
#: The error of a name that a script does not have, whatever the answers are.
_NO_SUCH_NAME: Final = "ReferenceError"


def checked(
    files: Sequence[Path],
    stack: InterpreterStack,
    agents: Mapping[str, Any],
    modules: Mapping[str, Path],
) -> Iterator[str]:
    """Check files, one after another; yields a line about each that is right.

    Lines behind it name options that the agents of the script would refuse; these may be made of
    stand-ins for answers.

    Args:
        files: The files.
        stack: Has the engine.
        agents: The agents that scripts may name; none if these are not known.
        modules: Files of the modules that scripts may import, by specifier.

    Raises:
        WorkflowError: A file is wrong; the message is one line that begins with its name.
    """
    runtime, sources = WorkflowRuntime(stack.engine), read_modules(modules)
    with asyncio.Runner() as loop:
        runner = WorkflowRunner(stack, agents=agents, modules=modules)
        try:
            for path in files:
                line = _checked(path, runtime, sources)
                notes = loop.run(_rehearsed(path, runner, bool(agents)))
                yield line
                yield from notes
        finally:
            loop.run(runner.aclose())


def _checked(path: Path, runtime: WorkflowRuntime, modules: Mapping[str, str]) -> str:
    """The line about a file whose metadata and module are right."""
    script = Catalog().given(path)
    found = read_metadata(script.source, name=path.name)
    arguments_schema(found)
    try:
        runtime.check_module(
            WorkflowModuleInput(
                source=script.source, source_name=script.source_name, modules=modules
            )
        )
    except WorkflowModuleError as error:
        raise WorkflowModuleError(f"{path.name}: {error}".partition("\n")[0]) from error
    phases = ", ".join(phase.title for phase in found.phases)
    return f"{path}: {found.name}: {found.description}" + (f" ({phases})" if phases else "")


async def _rehearsed(path: Path, runner: WorkflowRunner, knows_agents: bool) -> list[str]:
    """Lines about wrong options of a file that calls only workflows and agents which there are.

    Names that a script computes may be made of a stand-in, so they are not held against it.
    """
    found = await runner.rehearse(path)
    refused = (*_OF_CHILDREN, _NO_SUCH_NAME, *(["UnknownAgent"] if knows_agents else []))
    notes = []
    for fault in found.faults:
        if fault.name in refused and not fault.computed:
            raise WorkflowError(_at(path, fault) + fault.message)
        if fault.name == "TypeError":
            notes.append(
                f"{_at(path, fault)}with stand-ins for answers, a step fails: {fault.message}"
            )
    if found.error is not None and found.error.name == _NO_SUCH_NAME:
        raise WorkflowError(_at(path, found.error) + found.error.message)
    return notes


def _at(path: Path, fault: ScriptFault) -> str:
    return f"{fault.source_name}:{fault.line}: " if fault.line else f"{path.name}: "
