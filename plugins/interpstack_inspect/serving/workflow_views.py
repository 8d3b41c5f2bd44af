"""Runs of workflows as pages show them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from interpstack_inspect.shown.texts import brief
from interpstack_workflows.api import RunTree, StepNode, Usage, WorkflowNode

__all__ = ["FILTERS", "pruned"]

#: Characters of a value, and steps of a run, that a page shows.
_VALUE_CHARS: Final = 20_000
_MOST_STEPS: Final = 2_000


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


def _moment(seconds: float) -> str:
    """A time for people."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s since 1970"


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


#: Filters of the templates.
FILTERS: Final[Mapping[str, Any]] = {
    "json": _json,
    "moment": _moment,
    "phases": _phases,
    "tokens": _tokens,
}
