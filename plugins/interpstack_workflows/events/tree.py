"""A run as a tree: workflows, their phases, and the steps in each.

The tree of a live run is fed by its events, that of a stored one is read from its records; both
are equal, except for what only a live run knows: which agents are at work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import attrs

from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.events.events import (
    AgentCompletedEvent,
    AgentFailedEvent,
    AgentStartedEvent,
    CancelledEvent,
    ErrorEvent,
    PhaseEvent,
    ResultEvent,
    ResumedEvent,
    StartedEvent,
    StepEvent,
    WaitingEvent,
    WaitOpenedEvent,
    WorkflowEvent,
)
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.steps.stages import approvals_of
from interpstack_workflows.stores.records import WorkflowRecord

__all__ = ["NodeStatus", "RunTree", "StepNode", "WorkflowNode", "preview"]

NodeStatus: TypeAlias = Literal["running", "waiting", "ok", "failed"]

#: Characters of a prompt that are shown.
_PREVIEW_CHARS: Final = 200
#: The input of a step that names it best, by its kind.
_TITLES: Final = {
    "agent": "prompt",
    "ask": "question",
    "checkpoint": "label",
    "exec": "profile",
    "sleep": "durationMs",
    "wait": "signal",
    "workflow": "ref",
}


def preview(text: Any) -> str:
    """Return the beginning of a text, for a line."""
    return str(text)[:_PREVIEW_CHARS]


@attrs.define
class StepNode:
    """One step.

    Attributes:
        kind: The kind of the step.
        title: Its label, or the beginning of its prompt or question.
        status: `running`, `waiting`, `ok` or `failed`.
        phase: Its phase.
        agent: The agent that it calls.
        usage: The resources that it used.
        error: Its failure, in a line.
    """

    kind: str
    title: str = ""
    status: NodeStatus = "running"
    phase: str | None = None
    agent: str | None = None
    usage: WorkflowUsage = attrs.field(factory=WorkflowUsage)
    error: str = ""

    def stands(self, status: NodeStatus, error: str = "") -> None:
        """Note the state of the step."""
        self.status, self.error = status, error

    def describe(self, title: str, phase: str | None = None, agent: str | None = None) -> None:
        """Note what the step is; a title that is empty changes nothing."""
        self.title = title or self.title
        self.phase, self.agent = phase, agent

    def used(self, usage: WorkflowUsage) -> None:
        """Note the resources that the step used."""
        self.usage = usage


@attrs.define
class WorkflowNode:
    """One workflow: the root, or a child.

    Attributes:
        name: The name of the workflow.
        status: `running`, `waiting`, `ok` or `failed`.
        phases: The phases that it has entered or announced, in order.
        steps: Its steps by name, in the order of their beginnings.
        children: The workflows that it called, by the names of their steps.
        error: Its failure, in a line.
    """

    name: str
    status: NodeStatus = "running"
    phases: list[str] = attrs.field(factory=list)
    steps: dict[str, StepNode] = attrs.field(factory=dict)
    children: dict[str, WorkflowNode] = attrs.field(factory=dict)
    error: str = ""

    def stands(self, status: NodeStatus, error: str = "") -> None:
        """Note the state of the workflow."""
        self.status, self.error = status, error

    def called(self, name: str) -> None:
        """Note the workflow's name."""
        self.name = name

    def entered(self, phase: str | None) -> None:
        """Note a phase."""
        if phase is not None and phase not in self.phases:
            self.phases.append(phase)

    def usage(self) -> WorkflowUsage:
        """Return the resources used by this workflow and its children."""
        total = WorkflowUsage()
        for step in self.steps.values():
            total = total + step.usage
        for child in self.children.values():
            total = total + child.usage()
        return total


class RunTree:
    """The tree of one run.

    Args:
        name: The name of the root workflow.

    Attributes:
        root: The root workflow.
    """

    def __init__(self, name: str = "") -> None:
        self.root = WorkflowNode(name)

    @classmethod
    def of(cls, record: WorkflowRecord, entries: Iterable[Entry]) -> RunTree:
        """Return the tree of a stored run.

        Args:
            record: The run.
            entries: Everything that it has recorded.
        """
        tree = cls(record.name)
        for phase in record.metadata.get("phases") or ():
            if isinstance(phase, Mapping) and isinstance(phase.get("title"), str):
                tree.root.entered(phase["title"])
        for entry in entries:
            for step in entry.settled:
                tree._recorded(entry.scope, step)
        ended: dict[str, NodeStatus] = {
            "completed": "ok",
            "failed": "failed",
            "cancelled": "failed",
            "waiting": "waiting",
        }
        error = "" if record.error is None else _line(record.error)
        tree.root.stands(ended.get(record.status, "running"), error)
        return tree

    def take(self, event: WorkflowEvent) -> None:
        """Update the tree with an event of its run."""
        node = self.workflow(event.scope)
        match event:
            case StartedEvent(name=name) | ResumedEvent(name=name):
                node.called(name)
                node.stands("running")
            case PhaseEvent(name=name):
                node.entered(name)
            case AgentStartedEvent():
                self._agent(node, event).stands("running")
            case AgentCompletedEvent():
                self._agent(node, event, event.usage).stands("ok")
            case AgentFailedEvent(name=name, message=message):
                self._agent(node, event, event.usage).stands("failed", f"{name}: {message}")
            case WaitOpenedEvent(waiting_for=wait):
                step = self._step(node, event.step or "", str(wait["kind"]))
                shown = preview(wait.get("question") or wait.get("signal") or "")
                step.describe(step.title or shown, step.phase, step.agent)
                step.stands("waiting")
            case StepEvent(kind=kind, ok=ok):
                self._step(node, event.step or "", kind).stands("ok" if ok else "failed")
            case ResultEvent():
                node.stands("ok")
            case ErrorEvent(name=name, message=message):
                node.stands("failed", f"{name}: {message}")
            case CancelledEvent(message=message):
                node.stands("failed", message)
            case WaitingEvent():
                node.stands("waiting")

    def workflow(self, scope: str) -> WorkflowNode:
        """Return the workflow of a scope, as events name it."""
        node = self.root
        for step in scope.split("/")[1:]:
            node = node.children.setdefault(step, WorkflowNode(""))
        return node

    def _step(self, node: WorkflowNode, name: str, kind: str) -> StepNode:
        return node.steps.setdefault(name, StepNode(kind))

    def _agent(
        self,
        node: WorkflowNode,
        event: AgentStartedEvent | AgentCompletedEvent | AgentFailedEvent,
        usage: Mapping[str, Any] = {},
    ) -> StepNode:
        step = self._step(node, event.step or "", "agent")
        step.describe(event.label or event.prompt_preview, event.phase, event.agent)
        node.entered(event.phase)
        if usage:
            step.used(WorkflowUsage.from_json(usage))
        return step

    def _recorded(self, scope: str, record: StepRecord) -> None:
        node = self.workflow(scope)
        step = self._step(node, record.name, record.kind)
        if record.signature:
            _describe(step, json.loads(record.signature))
            node.entered(step.phase)
        if record.usage:
            step.used(step.usage + WorkflowUsage.from_json(record.usage))
        if record.started:
            asks = record.kind == "agent" and approvals_of(record) is not None
            waits = asks or record.kind not in ("workflow", "exec", "agent")
            step.stands("waiting" if waits else "running")
            if record.kind == "workflow":
                child = node.children.setdefault(record.name, WorkflowNode(""))
                child.called(str(record.value["name"]))
            return
        step.stands("ok" if record.ok else "failed", "" if record.ok else _line(record.error or {}))
        if record.name in node.children:
            node.children[record.name].stands(step.status, step.error)


def _line(error: Mapping[str, Any]) -> str:
    return f"{error.get('name')}: {error.get('message')}"


def _describe(step: StepNode, inputs: Mapping[str, Any]) -> None:
    """Title, phase and agent of a step, from its signature."""
    options = inputs.get("options") or {}
    title = options.get("label") or inputs.get(_TITLES.get(step.kind, ""))
    if isinstance(title, Mapping):
        title = title.get("scriptPath", "")
    phase, agent = options.get("phase"), options.get("agentType")
    step.describe(
        preview("" if title is None else title),
        phase if isinstance(phase, str) else None,
        agent if isinstance(agent, str) else None,
    )
