"""Values of runs: what a run is started with, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack_workflows.stores.records import RunStatus

__all__ = ["ENDED", "ScopePlace", "Script", "WorkflowResult", "phases_of"]

#: Statuses after which nothing happens in a run any more, unless it is resumed.
ENDED: Final = frozenset({"completed", "failed", "cancelled"})


@attrs.frozen
class Script:
    """The source of a workflow.

    Attributes:
        source: The text of the module.
        source_name: Its name in stack traces, as in `research.workflow.js`.
        path: Its file; `None` if it has none. Child scripts are named relative to it.
        name: The name under which it was looked up, or that of its metadata.
    """

    source: str = attrs.field(repr=False)
    source_name: str = "workflow.js"
    path: Path | None = None
    name: str = ""


@attrs.frozen(kw_only=True)
class ScopePlace:
    """The place of a scope in its run.

    Attributes:
        scope: Identifies the scope in the run's entries.
        script: The source of the module.
        args: The arguments, as JSON.
        names: Names of the workflows from the root to this one, by which cycles are found.
        phases: For each phase in the metadata, the model and provider of its agents.
        spent: Tokens that the run had spent when the scope began.
    """

    scope: str
    script: Script
    args: Any
    names: tuple[str, ...]
    phases: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    spent: int = 0

    def child(self, step: str) -> str:
        """Return the scope of the child that a step of this scope calls."""
        return f"{self.scope}/{step}"

    def phase_defaults(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the model and the provider of the phase in which an agent is called."""
        return self.phases.get(str(options.get("phase")), {})


def phases_of(metadata: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """For each phase of a workflow, the model and the provider of its agents.

    Args:
        metadata: The module's export `meta`, checked.
    """
    return {
        phase["title"]: {name: phase[name] for name in ("model", "provider") if phase.get(name)}
        for phase in metadata.get("phases", ())
        if isinstance(phase, dict) and isinstance(phase.get("title"), str)
    }


@attrs.frozen(kw_only=True)
class WorkflowResult:
    """The end of a run, or its state while it can only wait.

    Attributes:
        run_id: Identifies the run in its store.
        status: `completed`, `failed` or `cancelled`; `waiting` if the run needs an answer or a
            signal from outside to continue.
        result: The return value of the module's default export, as JSON; `None` unless completed.
        error: `name`, `message` and, if it has one, `stack` of the error that ended the run.
        waiting_for: The open questions, signals, approvals and sleeps of a waiting run.
        usage: Tokens, cost, seconds and agents spent.
        census: How many steps succeeded and failed, by kind and by agent.
    """

    run_id: str
    status: RunStatus
    result: Any = None
    error: Mapping[str, Any] | None = None
    waiting_for: Sequence[Mapping[str, Any]] = ()
    usage: Mapping[str, Any] = attrs.field(factory=dict)
    census: Mapping[str, Any] = attrs.field(factory=dict)
