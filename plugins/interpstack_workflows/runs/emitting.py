"""Emit the events of one run, and count its steps in a census."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from interpstack_workflows.agents.agent import AgentAnswer, AgentCall
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.events.census import Census
from interpstack_workflows.events.events import (
    AgentCompletedEvent,
    AgentFailedEvent,
    AgentProgressEvent,
    AgentStartedEvent,
    CancelledEvent,
    ErrorEvent,
    LogEvent,
    PhaseEvent,
    ResultEvent,
    ResumedEvent,
    StartedEvent,
    StepEvent,
    WaitingEvent,
    WaitOpenedEvent,
    WorkflowEvent,
)
from interpstack_workflows.events.tree import preview
from interpstack_workflows.runs.agent_names import asked_name
from interpstack_workflows.runs.failures import ScopeFailed
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.scopes.scope import OpenRequest
from interpstack_workflows.runs.values import ScopePlace
from interpstack_workflows.runs.verbs.waits import Wait
from interpstack_workflows.runtime.boundary import LogCall, PhaseCall
from interpstack_workflows.steps.entries import StepRecord
from interpstack_workflows.steps.names import canonical
from interpstack_workflows.stores.records import WorkflowRecord

__all__ = ["RunEmitter"]

#: Characters of an agent's event as JSON.
_EVENT_CHARS: Final = 16_384
_TEXT_CHARS: Final = 10_000
_NOTHING: Final = WorkflowUsage()


class RunEmitter:
    """Emit the events of one run, and count its steps.

    Args:
        parts: Takes the events, and has the clock and the agents.
        record: The run.
    """

    def __init__(self, parts: RunParts, record: WorkflowRecord) -> None:
        self._parts = parts
        self._run_id = record.id
        self._created = record.created
        self._sessions: dict[tuple[str, str], str | None] = {}
        self._census = Census()
        #: What agents had used when the stages of their steps were recorded.
        self._earlier: dict[tuple[str, str], WorkflowUsage] = {}

    def census(self) -> Mapping[str, Any]:
        """See `Census.to_json`."""
        return self._census.to_json()

    def counted(self, dropped: int, steps: Iterable[StepRecord]) -> None:
        """Complete the census.

        Args:
            dropped: Failures that the root's `parallel` and `pipeline` turned into null.
            steps: Steps of children that ended in an earlier activation and do not run again.
        """
        self._census.dropped(dropped)
        for step in steps:
            agent = None
            if step.kind == "agent":
                options = json.loads(step.signature).get("options") or {}
                agent = asked_name(self._parts.agents, options.get("agentType"))
            self._census.count(step, agent)

    def started(self, place: ScopePlace, *, again: bool) -> None:
        """Report that a workflow began, or was resumed."""
        kind = ResumedEvent if again else StartedEvent
        now = self._parts.clock()
        self._emit(kind, place.scope, name=place.names[-1], start_time=now)

    def called(self, place: ScopePlace, call: LogCall | PhaseCall) -> None:
        """Report what a script logged, or the phase that it entered."""
        if isinstance(call, LogCall):
            self._emit(LogEvent, place.scope, message=call.text[:_TEXT_CHARS])
        else:
            options = None if call.options is None else _bounded(call.options)
            self._emit(PhaseEvent, place.scope, name=call.name[:_TEXT_CHARS], options=options)

    def agent_started(self, opened: OpenRequest, call: AgentCall) -> None:
        """Report the call of an agent."""
        if not self._parts.hub.hears():
            return
        self._emit(
            AgentStartedEvent,
            opened.scope.place.scope,
            opened.name,
            agent=call.agent,
            label=call.label,
            phase=call.phase,
            model=call.model,
            provider=call.provider,
            attempt=call.attempt,
            prompt_preview=preview(opened.request.prompt),
        )

    def agent_event(
        self, opened: OpenRequest, agent: str, provider: str | None, event: Mapping[str, Any]
    ) -> None:
        """Report the progress of an agent."""
        self._emit(
            AgentProgressEvent,
            opened.scope.place.scope,
            opened.name,
            agent=agent,
            provider=provider,
            provider_event=_bounded(event),
        )

    def agent_answered(self, opened: OpenRequest, answer: AgentAnswer) -> None:
        """Note the session of an agent that answered; its event follows when that is recorded."""
        self._sessions[opened.scope.place.scope, opened.name] = answer.session_id

    def waits(self, opened: OpenRequest, wait: Wait) -> None:
        """Report that a wait began."""
        scope = opened.scope.place.scope
        self._emit(WaitOpenedEvent, scope, opened.name, waiting_for=wait.to_json())

    def began(self, scope: str, steps: Iterable[StepRecord]) -> None:
        """Note what agents used before their steps ended, in this activation or an earlier one."""
        for step in steps:
            if step.started and step.usage:
                used = self._earlier.get((scope, step.name), _NOTHING)
                self._earlier[scope, step.name] = used + WorkflowUsage.from_json(step.usage)

    def step_ended(self, opened: OpenRequest, step: StepRecord, *, replayed: bool) -> None:
        """Report the end of a step, recorded in this activation or in an earlier one."""
        scope = opened.scope.place.scope
        session = self._sessions.pop((scope, opened.name), None)
        earlier = self._earlier.pop((scope, opened.name), _NOTHING)
        if step.kind != "agent":
            self._census.count(step)
            self._emit(StepEvent, scope, opened.name, kind=step.kind, ok=step.ok, replayed=replayed)
            return
        given = opened.request.options or {}
        agent = asked_name(self._parts.agents, given.get("agentType"))
        self._census.count(step, agent)
        if not self._parts.hub.hears():
            return
        options = {**opened.scope.place.phase_defaults(given), **given}
        fields: dict[str, Any] = {
            name: value if isinstance(value := options.get(name), str) else None
            for name in ("label", "phase", "model")
        }
        used = (earlier + WorkflowUsage.from_json(step.usage)).to_json()
        fields |= {"agent": agent, "usage": used, "replayed": replayed}
        fields["prompt_preview"] = preview(opened.request.prompt)
        if step.ok:
            self._emit(AgentCompletedEvent, scope, opened.name, session_id=session, **fields)
        else:
            error = step.error or {}
            fields |= {"name": str(error.get("name")), "message": str(error.get("message"))}
            self._emit(AgentFailedEvent, scope, opened.name, **fields)

    def child_completed(self, place: ScopePlace, result: Any, usage: WorkflowUsage) -> None:
        """Report the result of a child; the root's is reported when it is stored."""
        if len(place.names) > 1:
            self._emit(ResultEvent, place.scope, results=result, token_usage=usage.to_json())

    def child_failed(self, place: ScopePlace, error: ScopeFailed) -> None:
        """Report the failure of a child; the root's is reported when it is stored."""
        if len(place.names) > 1:
            self._emit(ErrorEvent, place.scope, name=error.name, message=str(error))

    def run_ended(self, record: WorkflowRecord, scope: str) -> None:
        """Report that the run has ended or is suspended, as its record says."""
        error = record.error or {}
        totals: dict[str, Any] = {"census": record.census}
        message = str(error.get("message", ""))
        match record.status:
            case "completed":
                self._emit(
                    ResultEvent, scope, results=record.result, token_usage=record.usage, **totals
                )
            case "failed":
                name = str(error.get("name", "Error"))
                self._emit(ErrorEvent, scope, name=name, message=message, **totals)
            case "cancelled":
                self._emit(CancelledEvent, scope, message=message, **totals)
            case _:
                waits = record.waiting_for
                self._emit(WaitingEvent, scope, waiting_for=waits, wake_at=record.wake_at)

    def _emit(
        self,
        event: Callable[..., WorkflowEvent],
        scope: str,
        step: str | None = None,
        /,
        **own: Any,
    ) -> None:
        if not self._parts.hub.hears():
            return
        elapsed = max(0, int((self._parts.clock() - self._created) * 1e9))
        self._parts.hub.emit(
            event(run_id=self._run_id, scope=scope, step=step, elapsed_nanos=elapsed, **own)
        )


def _bounded(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event of an agent, or options of a phase, as JSON of a bounded size."""
    try:
        text = canonical(event)
    except ValueError:
        return {"preview": preview(event), "noJson": True}
    if len(text) <= _EVENT_CHARS:
        return dict(event)
    return {"preview": preview(text), "chars": len(text)}
