"""Runs of workflows as pages show them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from interpstack_inspect.contract.records import Question
from interpstack_inspect.shown.texts import brief
from interpstack_workflows.api import RunTree, StepNode, WorkflowNode, WorkflowRecord, WorkflowUsage

__all__ = ["FILTERS", "asked_in", "pruned", "run_version"]

#: Characters of a value, and steps of a run, that a page shows.
_VALUE_CHARS: Final = 20_000
_MOST_STEPS: Final = 2_000
_REASON_CHARS: Final = 300


def pruned(tree: RunTree) -> int:
    """Leave steps out of a tree that is too large for a page, first those that have succeeded.

    Returns:
        How many were left out.
    """
    nodes = [*_nodes(tree.root)]
    named = [(node, name) for node in nodes for name in node.steps]
    more = len(named) - _MOST_STEPS
    done = [(node, name) for node, name in named if node.steps[name].status == "ok"]
    left_out = [*done[::-1], *[one for one in named[::-1] if one not in done]][: max(more, 0)]
    for node, name in left_out:
        del node.steps[name]
    return len(left_out)


def asked_in(run: WorkflowRecord) -> int:
    """The number of questions that a run says that it waits for, answered ones included."""
    return sum(wait.get("kind") in ("ask", "approval") for wait in run.waiting_for)


def run_version(run: WorkflowRecord, questions: Sequence[Question]) -> str:
    """A text that changes with a run and its open questions."""
    return "-".join([str(run.version), run.status, *(one.digest[:16] for one in questions)])


def _reason(run: WorkflowRecord) -> str:
    """The reason for the state of a run, in a line: its failure, or what it waits for."""
    if run.error is not None:
        return brief(f"{run.error.get('name')}: {run.error.get('message')}", _REASON_CHARS)
    return brief("; ".join(map(_wait, run.waiting_for)), _REASON_CHARS)


def _wait(wait: Mapping[str, Any]) -> str:
    """What a run waits for, in a few words."""
    if approvals := wait.get("approvals"):
        return f"approval of {', '.join(str(one.get('tool') or 'a value') for one in approvals)}"
    if wait.get("kind") == "ask":
        return f"question: {wait.get('question')}"
    if wait.get("kind") == "signal":
        return f"signal {wait.get('signal')}"
    return str(wait.get("kind"))


def _nodes(node: WorkflowNode) -> Iterator[WorkflowNode]:
    yield node
    for child in node.children.values():
        yield from _nodes(child)


def _phases(node: WorkflowNode) -> Iterator[tuple[str | None, list[tuple[str, StepNode]]]]:
    """The steps of a workflow by phase; those without one come first."""
    groups: dict[str | None, list[tuple[str, StepNode]]] = {phase: [] for phase in node.phases}
    alone: list[tuple[str, StepNode]] = []
    for name, step in node.steps.items():
        groups.get(step.phase, alone).append((name, step))
    if alone or not groups:
        yield None, alone
    yield from groups.items()


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2, default=repr)
    return brief(text, _VALUE_CHARS)


def _tokens(usage: WorkflowUsage) -> int:
    return usage.input_tokens + usage.output_tokens


#: Filters of the templates.
FILTERS: Final[Mapping[str, Any]] = {
    "json": _json,
    "phases": _phases,
    "reason": _reason,
    "wait": _wait,
    "tokens": _tokens,
}
