"""Read what a runner knows and stores; nothing runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from interpstack import ConfigurationError, call_blocking
from interpstack.checks import shown
from interpstack_workflows.agents.agent import Agent
from interpstack_workflows.errors import MetadataError, UnknownWorkflow
from interpstack_workflows.events.tree import RunTree
from interpstack_workflows.module.arguments import check_arguments
from interpstack_workflows.module.metadata import WorkflowMetadata
from interpstack_workflows.runs.catalog import metadata_of
from interpstack_workflows.runs.changes import compared
from interpstack_workflows.runs.dry_run import ScriptDifference
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.reading.open_questions import run_questions
from interpstack_workflows.runs.reading.patches import recorded_patches
from interpstack_workflows.runs.reading.rehearsal import Rehearsal, rehearse
from interpstack_workflows.runs.reading.stand_ins import stand_in
from interpstack_workflows.runs.run_records import RunOptions, new_run, root_place, stored_run
from interpstack_workflows.stores.records import STATUSES, RunStatus, WorkflowRecord

__all__ = ["RunnerViews"]


class RunnerViews:
    """The part of a runner that only reads.

    Args:
        parts: What all runs of the runner share.
    """

    def __init__(self, parts: RunParts) -> None:
        self._parts = parts

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents that scripts may call, by name."""
        return MappingProxyType(dict(self._parts.agents))

    @property
    def isolates(self) -> bool:
        """Whether the host has a repository for agents with `isolation: "worktree"`."""
        return self._parts.worktrees is not None

    async def workflows(self) -> Mapping[str, WorkflowMetadata]:
        """Return the workflows known by name, with their metadata; faulty ones are left out."""
        catalog, found = self._parts.catalog, dict[str, WorkflowMetadata]()
        for name in await call_blocking(catalog.names):
            try:
                script = await call_blocking(lambda name=name: catalog.named(name))  # type: ignore[misc]
                found[name] = await metadata_of(script)
            except (MetadataError, UnknownWorkflow):
                continue  # `start` and `rehearse` report the fault
        return found

    async def rehearse(
        self, what: Path | str, args: Any = None, *, budget: Any = None
    ) -> Rehearsal:
        """Run a script with stand-ins for all answers, to see what it would do.

        No agent is called, no command runs, nothing is stored. Steps, time and memory are bounded.

        Args:
            what: A file, the name of a known workflow, or the source of a module.
            args: The arguments, as JSON; by default, a stand-in of the schema in the metadata.
            budget: The budget that the script would see; see `RunOptions`.

        Raises:
            UnknownWorkflow: There is no such file or name.
            MetadataError: The file has no valid metadata.
            ArgumentsError: The workflow does not take these arguments.
            WorkflowError: The budget is wrong.
        """
        script = self._parts.catalog.given(what)
        metadata = await metadata_of(script)
        if args is None and metadata.args_schema is not None:
            args = stand_in(metadata.args_schema)
        else:
            args = await check_arguments(metadata, args, exact=True)
        record = new_run(script, metadata, args, RunOptions(budget=budget), self._parts.clock())
        return await rehearse(self._parts, root_place(record), record.budget.get("tokens"))

    async def diff(self, run_id: str, source: Path | str) -> ScriptDifference:
        """Compare a script with the records of a run; nothing runs, nothing is spent.

        Args:
            run_id: The run.
            source: The script, as `start` takes it.

        Raises:
            UnknownRun: The store has no such run.
        """
        return await compared(
            self._parts, await self.show(run_id), self._parts.catalog.given(source)
        )

    async def runs(
        self, status: RunStatus | None = None, limit: int = 100
    ) -> Sequence[WorkflowRecord]:
        """Return the runs of the store, the newest first.

        Raises:
            ConfigurationError: There is no such status, or the limit is not a number above 0.
        """
        if status is not None and status not in STATUSES:
            raise ConfigurationError(
                f"status takes {', '.join(STATUSES)}, or None for all; got {shown(status)}"
            )
        if type(limit) is not int or limit < 1:
            raise ConfigurationError(f"limit takes a whole number above 0; got {shown(limit)}")
        return await self._parts.store.runs(status=status, limit=limit)

    async def show(self, run_id: str) -> WorkflowRecord:
        """Return a run as the store has it.

        Raises:
            UnknownRun: The store has no such run.
        """
        return await stored_run(self._parts.store, run_id)

    async def tree(self, run_id: str) -> RunTree:
        """Return a run as a tree of workflows, phases and steps, from its records.

        Raises:
            UnknownRun: The store has no such run.
        """
        record = await self.show(run_id)
        return RunTree.of(record, await self._parts.store.entries(run_id))

    async def patches(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """Return the work of the agents of a run that had worktrees and changed files.

        Returns:
            Of each, in the order of their ends, `title`, its label or the beginning of its prompt;
            `ok`, whether it succeeded; `files`, `base` and `patch`. If the patch is too large for
            a record, `patch` is `None`, and `branch` names the branch that has the work.

        Raises:
            UnknownRun: The store has no such run.
        """
        await self.show(run_id)
        return list(recorded_patches(await self._parts.store.entries(run_id)))

    async def questions(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """The open questions and approvals of a run, also while it is at work in any process.

        Returns:
            Of each, `id`, `kind` (`ask` or `approval`), `since` in seconds since 1970, and
            `question` with `options`, or `approvals`. One whose answer is stored, and was not
            taken by the run yet, has `answered` as well, which is true.

        Raises:
            UnknownRun: The store has no such run.
        """
        return await run_questions(self._parts.store, await self.show(run_id))

    async def waits(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """Return what a run waits for, with `answered` as in `questions`.

        Returns:
            The questions, approvals, signals and sleeps of a waiting run; of a run at work, its
            questions and approvals.

        Raises:
            UnknownRun: The store has no such run.
        """
        record = await self.show(run_id)
        questions = await run_questions(self._parts.store, record)
        if record.status != "waiting":
            return questions
        known = {one["id"]: one for one in questions}
        return [known.get(wait.get("id"), wait) for wait in record.waiting_for]
