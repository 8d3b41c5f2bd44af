"""Admission: what a model may start, and with how much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack.similar_names import did_you_mean
from interpstack_langchain.workflows.by_models.conversations import WorkflowConversation
from interpstack_langchain.workflows.by_models.lines import as_json
from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_workflows.api import (
    UnknownWorkflow,
    WorkflowError,
    WorkflowRecord,
    WorkflowRunner,
)

__all__ = ["SEARCHED", "Wanted", "WorkflowAdmission"]

#: Runs of one status among which those of a conversation are searched.
SEARCHED: Final = 10_000


@attrs.frozen(kw_only=True)
class Wanted:
    """The workflow that a model wants checked or started, as it wrote it.

    Attributes:
        source: The source of a module.
        name: The name of a known workflow.
        args: The arguments, as JSON.
        budget: Limits of the run, by kind.
    """

    source: str | None = None
    name: str | None = None
    args: Any = None
    budget: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class WorkflowAdmission:
    """Decides on workflows that a model wants started.

    Attributes:
        options: The limits of the host.
    """

    options: WorkflowOptions

    async def script(self, runner: WorkflowRunner, wanted: Wanted) -> str:
        """Return the script as a runner takes it: a source, or a name that is known.

        Raises:
            WorkflowError: It is neither, or too large.
        """
        most = self.options.max_source_chars
        if (wanted.source is None) == (wanted.name is None):
            raise WorkflowError("give either source or name, and not both")
        if wanted.args is not None and (size := len(as_json(wanted.args))) > most:
            raise WorkflowError(f"args have {size} characters, at most {most} here")
        if wanted.source is not None:
            if not self.options.writes:
                raise WorkflowError("only known workflows may be started here; give a name")
            if len(wanted.source) > most:
                raise WorkflowError(
                    f"the source has {len(wanted.source)} characters, at most {most} here"
                )
            return f"{wanted.source}\n"  # a text with a line end is never a path or a name
        known = await runner.workflows()
        name = wanted.name or ""
        if name not in known:
            meant = did_you_mean(name, known) or "."
            raise UnknownWorkflow(
                f"Unknown workflow: {name!r:.100}{meant} Known workflows:"
                f" {', '.join(list(known)[:20]) or 'none'}"
            )
        return name

    def budget(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return the limits of a run: the model's, within those of the host.

        Raises:
            WorkflowError: One of them is larger than the host's.
        """
        limits = self.options.budget.to_json()
        for kind, amount in wanted.items():
            if kind in limits and amount > limits[kind]:
                raise WorkflowError(
                    f"budget.{kind} is {amount:g}, at most {limits[kind]:g} here; ask for less, or"
                    " leave it out"
                )
        return {**limits, **wanted}

    async def check_room(self, runner: WorkflowRunner, conversation: WorkflowConversation) -> None:
        """Refuse a run beyond those that may be at work.

        Raises:
            WorkflowError: The conversation has as many as it may have.
        """
        at_work: list[WorkflowRecord] = []
        for status in ("pending", "running", "waiting"):
            listed = await runner.runs(status, SEARCHED)
            at_work += [one for one in listed if conversation.owns(one.id)]
        if len(at_work) >= self.options.max_running:
            shown = ", ".join(f"{one.id} ({one.status})" for one in at_work)
            runs = "run" if len(at_work) == 1 else "runs"
            raise WorkflowError(
                f"this conversation has {len(at_work)} active {runs}, the maximum: {shown:.500}; "
                f"wait for one, or end one with {self.options.tool('stop')}"
            )
