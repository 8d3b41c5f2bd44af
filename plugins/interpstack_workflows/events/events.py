"""Events of runs, each with its JSON form.

An event says in which run, scope and step it happened, and how long after the start of the run.
Texts of scripts and agents in events are untrusted and bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import attrs

__all__ = [
    "AgentCompletedEvent",
    "AgentFailedEvent",
    "AgentProgressEvent",
    "AgentStartedEvent",
    "CancelledEvent",
    "ErrorEvent",
    "LogEvent",
    "PhaseEvent",
    "ResultEvent",
    "ResumedEvent",
    "StartedEvent",
    "StepEvent",
    "WaitOpenedEvent",
    "WaitingEvent",
    "WorkflowEvent",
]

#: Fields that JSON shows as `metadata`, and the time.
_PLACE: Final = frozenset({"run_id", "scope", "step", "elapsed_nanos"})


@attrs.frozen(kw_only=True)
class WorkflowEvent:
    """Something that happened in a run.

    Attributes:
        run_id: Identifies the run.
        scope: The workflow in the run: `root`, or for a child the scope of its parent and the step
            that called it.
        step: The step, for events of steps.
        elapsed_nanos: Nanoseconds since the run was created.
    """

    type: ClassVar[str] = "workflow.event"

    run_id: str
    scope: str
    step: str | None = None
    elapsed_nanos: int = 0

    @property
    def depth(self) -> int:
        """The number of workflows above the one of this event."""
        return self.scope.count("/")

    @property
    def parent_step(self) -> str | None:
        """The step of the parent that called this workflow; `None` for the root."""
        return self.scope.rpartition("/")[2] if self.depth else None

    def to_json(self) -> dict[str, Any]:
        """Return the event as plain JSON: `type`, `elapsedNanos`, `metadata`, its own fields."""
        own = {
            _camel(field.name): value
            for field in attrs.fields(type(self))
            if field.name not in _PLACE and (value := getattr(self, field.name)) is not None
        }
        metadata = {
            "runId": self.run_id,
            "scope": self.scope,
            "stepId": self.step,
            "workflowDepth": self.depth,
            "parentStepId": self.parent_step,
            "provider": own.get("provider"),
            "sessionId": own.get("sessionId"),
        }
        shown = {name: value for name, value in metadata.items() if value is not None}
        return {
            "type": self.type,
            "elapsedNanos": self.elapsed_nanos,
            "metadata": shown,
            **own,
        }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@attrs.frozen(kw_only=True)
class StartedEvent(WorkflowEvent):
    """A workflow started, the root or a child.

    Attributes:
        name: The name of the workflow.
        start_time: Seconds since 1970.
    """

    type: ClassVar[str] = "workflow.started"

    name: str
    start_time: float


@attrs.frozen(kw_only=True)
class ResumedEvent(WorkflowEvent):
    """A run or a child workflow was resumed.

    Attributes:
        name: The name of the workflow.
        start_time: Seconds since 1970.
    """

    type: ClassVar[str] = "workflow.resumed"

    name: str
    start_time: float


@attrs.frozen(kw_only=True)
class PhaseEvent(WorkflowEvent):
    """A script entered a phase; a resumed script sends the events of its phases again.

    Attributes:
        name: The name of the phase.
        options: The second argument of `phase`, for readers of the event; the run itself ignores
            it.
    """

    type: ClassVar[str] = "workflow.phase"

    name: str
    options: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class LogEvent(WorkflowEvent):
    """A script logged a message; a resumed script sends its messages again."""

    type: ClassVar[str] = "workflow.log"

    message: str


@attrs.frozen(kw_only=True)
class AgentStartedEvent(WorkflowEvent):
    """An agent is called.

    Attributes:
        agent: The name of the agent.
        label: The label that the script gave.
        phase: The phase.
        model: The model that the script asked for.
        provider: The provider that the script asked for.
        attempt: The number of the attempt, from 1.
        prompt_preview: The beginning of the prompt.
    """

    type: ClassVar[str] = "workflow.agent_started"

    agent: str
    label: str | None = None
    phase: str | None = None
    model: str | None = None
    provider: str | None = None
    attempt: int = 1
    prompt_preview: str = ""


@attrs.frozen(kw_only=True)
class AgentProgressEvent(WorkflowEvent):
    """An event of an agent while it works.

    Attributes:
        agent: The name of the agent.
        provider: The provider that the script asked for.
        provider_event: The agent's own event, as JSON.
    """

    type: ClassVar[str] = "workflow.agent_event"

    agent: str
    provider: str | None = None
    provider_event: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class AgentCompletedEvent(WorkflowEvent):
    """An agent's answer is recorded.

    Attributes:
        agent: The name of the agent.
        label: The label that the script gave.
        phase: The phase.
        model: The model that the script asked for.
        session_id: The agent's own name for the conversation.
        usage: The resources that the step used; see `Usage.to_json`.
        replayed: Whether the answer was recorded before the run was resumed.
        prompt_preview: The beginning of the prompt.
    """

    type: ClassVar[str] = "workflow.agent_completed"

    agent: str
    label: str | None = None
    phase: str | None = None
    model: str | None = None
    session_id: str | None = None
    usage: Mapping[str, Any]
    replayed: bool = False
    prompt_preview: str = ""


@attrs.frozen(kw_only=True)
class AgentFailedEvent(WorkflowEvent):
    """An agent's failure is recorded. Other fields are those of `AgentCompletedEvent`.

    Attributes:
        name: The name of the error.
        message: Its message.
    """

    type: ClassVar[str] = "workflow.agent_failed"

    agent: str
    label: str | None = None
    phase: str | None = None
    model: str | None = None
    name: str
    message: str
    usage: Mapping[str, Any]
    replayed: bool = False
    prompt_preview: str = ""


@attrs.frozen(kw_only=True)
class StepEvent(WorkflowEvent):
    """The end of another step is recorded: a wait, a child, a command, a checkpoint.

    Attributes:
        kind: The kind of the step.
        ok: Whether it succeeded.
        replayed: Whether the end was recorded before the run was resumed.
    """

    type: ClassVar[str] = "workflow.step"

    kind: str
    ok: bool
    replayed: bool = False


@attrs.frozen(kw_only=True)
class WaitOpenedEvent(WorkflowEvent):
    """A wait began: a sleep, a question, a signal or an approval.

    Attributes:
        waiting_for: The wait, as the run's record shows it.
    """

    type: ClassVar[str] = "workflow.wait"

    waiting_for: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class WaitingEvent(WorkflowEvent):
    """A run was put to rest, because it only waits.

    Attributes:
        waiting_for: The waits, oldest first.
        wake_at: The time at which it wakes by itself, in seconds since 1970.
    """

    type: ClassVar[str] = "workflow.waiting"

    waiting_for: Sequence[Mapping[str, Any]]
    wake_at: float | None = None


@attrs.frozen(kw_only=True)
class ResultEvent(WorkflowEvent):
    """A workflow has completed, the root or a child.

    Attributes:
        results: Its result, as JSON.
        token_usage: What the run has used so far; see `Usage.to_json`.
        census: Counts of the run's steps; only the root's event has them.
    """

    type: ClassVar[str] = "workflow.result"

    results: Any = None
    token_usage: Mapping[str, Any]
    census: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class ErrorEvent(WorkflowEvent):
    """A workflow has failed, the root or a child; a child's event comes first.

    Attributes:
        name: The name of the error.
        message: Its message.
        census: Counts of the run's steps; only the root's event has them.
    """

    type: ClassVar[str] = "workflow.error"

    name: str
    message: str
    census: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class CancelledEvent(WorkflowEvent):
    """A run was cancelled.

    Attributes:
        message: The reason.
        census: Counts of the run's steps.
    """

    type: ClassVar[str] = "workflow.cancelled"

    message: str
    census: Mapping[str, Any] | None = None
