"""Checks of workflow files, before anything of them runs for good."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from interpstack import InterpreterStack
from interpstack_workflows.errors import WorkflowError, WorkflowModuleError
from interpstack_workflows.module.arguments import arguments_schema
from interpstack_workflows.module.metadata import read_metadata
from interpstack_workflows.runs.catalog import WorkflowCatalog
from interpstack_workflows.runs.host_modules import read_modules
from interpstack_workflows.runs.reading.rehearsal import ScriptFault
from interpstack_workflows.runs.runner import WorkflowRunner
from interpstack_workflows.runtime.boundary import WorkflowModuleInput
from interpstack_workflows.runtime.runtime import WorkflowRuntime

__all__ = ["check_agents_of_run", "check_agents_of_script", "checked"]

#: Steps whose answers a rehearsal knows, or that change nothing before the first agent.
_FORESEEN: Final = ("agent", "checkpoint", "sleep", "workflow")
_GIVE_AGENTS: Final = "name the agents with --agents MODULE:ATTR"

#: Faults of calls of other workflows; others may come from a stand-in for an answer.
_OF_CHILDREN: Final = ("MetadataError", "UnknownWorkflow", "WorkflowCycle", "WorkflowDepth")
#: The error of a name that a script does not have, whatever the answers are.
_NO_SUCH_NAME: Final = "ReferenceError"


def checked(
    files: Sequence[Path],
    stack: InterpreterStack,
    agents: Mapping[str, Any],
    modules: Mapping[str, Path],
    workflows: Sequence[Path] = (),
) -> Iterator[str]:
    """Check files, one after another; yields a line about each that is right.

    Lines behind it name options that may be made of stand-ins for answers, and that a run would
    refuse. Options that the script itself has wrong are errors.

    Args:
        files: The files.
        stack: Has the engine.
        agents: The agents that scripts may name; none if these are not known.
        modules: Files of the modules that scripts may import, by specifier.
        workflows: Folders of the workflows that scripts may call by name.

    Raises:
        WorkflowError: A file is wrong; the message is one line that begins with its name.
    """
    runtime, sources = WorkflowRuntime(stack.engine), read_modules(modules)
    with asyncio.Runner() as loop:
        runner = WorkflowRunner(stack, agents=agents, modules=modules, workflows=workflows)
        try:
            for path in files:
                line = _checked(path, runtime, sources)
                notes = loop.run(_rehearsed(path, runner, bool(agents)))
                yield line
                yield from notes
        finally:
            loop.run(runner.aclose())


def _checked(path: Path, runtime: WorkflowRuntime, modules: Mapping[str, str]) -> str:
    """Return the line about a file whose metadata and module are right."""
    script = WorkflowCatalog().given(path)
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
    form = "; a script for Claude Code, which runs here unchanged" if found.top_level else ""
    listed = f" ({phases})" if phases else ""
    return f"{path}: {found.name}: {found.description}{listed}{form}"


async def check_agents_of_script(runner: WorkflowRunner, file: Path, args: Any) -> str:
    """Check that a script calls no agent before it runs without any.

    Args:
        runner: A runner without agents.
        file: The script.
        args: The arguments of the run.

    Returns:
        A note about calls that may follow, if answers that are not known yet lead to them; empty
        for none.

    Raises:
        click.UsageError: It calls one whatever the answers are.
    """
    found = await runner.rehearse(file, args)
    calls = [number for number, step in enumerate(found.steps) if step.kind == "agent"]
    if not calls:
        return ""
    first = found.steps[calls[0]]
    message = f"{file} calls an agent, for {first.what!r}"
    if all(step.kind in _FORESEEN for step in found.steps[: calls[0]]):
        raise click.UsageError(f"{message}, and none is given; {_GIVE_AGENTS}")
    return f"{message}, perhaps, and none is given: it would fail. If so, {_GIVE_AGENTS}"


async def check_agents_of_run(
    runner: WorkflowRunner, run_id: str, source: Path | None = None
) -> str:
    """Check that a run calls no agent next, before it is resumed without any.

    Args:
        runner: A runner without agents.
        run_id: The run.
        source: The script for the rest of the run; by default, its own.

    Returns:
        A note about calls that may follow; empty for none.

    Raises:
        click.UsageError: It does.
    """
    record = await runner.show(run_id)
    if record.status == "completed" and source is None:
        return ""
    script = record.source if source is None else source
    found = await runner.diff(run_id, script)
    calls = [step.what for step in found.anew if step.kind == "agent"]
    if calls:
        raise click.UsageError(
            f"{run_id} calls an agent next, for {calls[0]!r}, and none is given; {_GIVE_AGENTS}"
        )
    rehearsal = await runner.rehearse(script, record.args)
    if not any(step.kind == "agent" for step in rehearsal.steps):
        return ""
    return f"{run_id} may call agents, and none is given: they would fail. If so, {_GIVE_AGENTS}"


async def _rehearsed(path: Path, runner: WorkflowRunner, knows_agents: bool) -> list[str]:
    """Lines about wrong options of a file that calls only workflows and agents which there are.

    Names that a script computes may be made of a stand-in, so they do not count as faults.
    """
    found = await runner.rehearse(path)
    refused = (*_OF_CHILDREN, _NO_SUCH_NAME, *(["UnknownAgent"] if knows_agents else []))
    notes = []
    for fault in found.faults:
        if fault.name in refused and not fault.computed:
            raise WorkflowError(_at(path, fault) + fault.message)
        if fault.certain:
            raise WorkflowError(_at(path, fault) + fault.message)
        if fault.name == "TypeError":
            notes.append(f"{_at(path, fault)}with made-up answers, a step fails: {fault.message}")
    if found.error is not None and found.error.name == _NO_SUCH_NAME:
        raise WorkflowError(_at(path, found.error) + found.error.message)
    return notes


def _at(path: Path, fault: ScriptFault) -> str:
    return f"{fault.source_name}:{fault.line}: " if fault.line else f"{path.name}: "
