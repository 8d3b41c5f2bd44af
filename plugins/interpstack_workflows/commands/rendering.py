"""Runs, events and results, as `interpstack workflow` prints them."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from interpstack_workflows.events.tree import RunTree, StepNode, WorkflowNode
from interpstack_workflows.runs.values import WorkflowResult
from interpstack_workflows.stores.records import WorkflowRecord

__all__ = [
    "add_workflow",
    "one_line",
    "print_result",
    "run_table",
    "run_tree",
    "status_of",
    "step_line",
    "without_controls",
]

#: Characters of a text from a script that a line shows.
_TEXT_CHARS: Final = 200
#: Characters that JSON does not escape, but which a terminal obeys.
_UNSEEN: Final = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: Characters of a line in which a table has room for an id of a run, which has 30.
_WIDE: Final = 60
#: Steps of a phase that a tree shows one by one.
_STEPS: Final = 20
_MARKS: Final = {"running": "…", "waiting": "?", "ok": "✓", "failed": "✗"}
_STYLES: Final = {"running": "cyan", "waiting": "yellow", "ok": "", "failed": "red"}
#: Statuses of runs that count as a success of the command.
_GOOD: Final = ("completed", "waiting")


def one_line(value: Any) -> str:
    """Return a value as a short line without control characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = without_controls(text)
    return text if len(text) <= _TEXT_CHARS else text[: _TEXT_CHARS - 1] + "…"


def without_controls(text: str) -> str:
    """Return a text on one line, without characters that a terminal obeys."""
    return "".join(char if char.isprintable() else " " for char in text)


def print_result(result: WorkflowResult, *, one_line: bool = False) -> None:
    """Print the state of a run as JSON to standard output.

    Args:
        result: The run.
        one_line: Whether to print a JSON line, as after the events of the run.
    """
    data = {
        "runId": result.run_id,
        "status": result.status,
        "result": result.result,
        "error": result.error,
        "waitingFor": list(result.waiting_for),
        "usage": dict(result.usage),
        "census": dict(result.census),
    }
    indent = None if one_line else 2
    text = json.dumps(data, ensure_ascii=not sys.stdout.isatty(), indent=indent)
    click.echo(_UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def status_of(result: WorkflowResult) -> int:
    """Return the exit status: 0 for a run that has completed or waits, else 1."""
    return 0 if result.status in _GOOD else 1


def run_table(runs: list[WorkflowRecord], width: int) -> Table:
    """Runs, one in a row; the id of a run is in one line, to be copied, if there is room.

    Args:
        runs: The runs.
        width: Characters in a line of the terminal.
    """
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    table.add_column("run", overflow="fold", no_wrap=width >= _WIDE)
    for column in ("workflow", "status", "created", "agents", "tokens", "cost"):
        table.add_column(column, overflow="fold")
    for run in runs:
        created = datetime.fromtimestamp(run.created, UTC).strftime("%Y-%m-%d %H:%M:%S")
        tokens = run.usage.get("input_tokens", 0) + run.usage.get("output_tokens", 0)
        cells = (run.id, one_line(run.name), run.status, created)
        cost = f"{run.usage['cost']:g}" if "cost" in run.usage else ""
        table.add_row(*map(Text, cells), str(run.usage.get("agents", 0)), str(tokens), cost)
    return table


def run_tree(run: WorkflowRecord, found: RunTree) -> Tree:
    """Return a run with its workflows, phases and steps, what it waits for, and how it ended."""
    tree = Tree(Text(f"{run.id} {one_line(run.name)}: {run.status}"))
    for wait in run.waiting_for:
        tree.add(_wait_line(wait))
    add_workflow(tree, found.root)
    for name, amount in run.usage.items():
        tree.add(Text(f"{name}: {amount:g}"))
    if dropped := run.census.get("dropped"):
        tree.add(Text(f"failures that became null: {dropped}"))
    if unused := run.census.get("unused_budgets"):
        tree.add(Text(f"budgets that limited nothing: {', '.join(map(one_line, unused))}"))
    if run.error is not None:
        tree.add(Text(f"{run.error.get('name')}: {one_line(run.error.get('message'))}"))
    if run.status == "completed":
        tree.add(Text(f"result: {one_line(run.result)}"))
    return tree


def add_workflow(tree: Tree, node: WorkflowNode) -> None:
    """Add the phases, steps and children of a workflow to its place in a tree."""
    places: dict[str | None, Tree] = {None: tree}
    for title in node.phases:
        places[title] = tree.add(Text(one_line(title), "bold"))
    groups: dict[str | None, list[tuple[str, StepNode]]] = {}
    for named in node.steps.items():
        groups.setdefault(named[1].phase, []).append(named)
    for phase, steps in groups.items():
        place = places.get(phase, tree)
        # What is not done is shown first, if there is no room for all.
        by_need = sorted(range(len(steps)), key=lambda at: steps[at][1].status == "ok")
        for at in sorted(by_need[:_STEPS]):
            key, step = steps[at]
            branch = place.add(step_line(step))
            if key in node.children:
                add_workflow(branch, node.children[key])
        if rest := by_need[_STEPS:]:
            place.add(Text(_rest_line([steps[at][1] for at in rest]), "dim"))


def _wait_line(wait: Mapping[str, Any]) -> Text:
    """One open wait, with all that a person needs to end it, or that its answer is on its way."""
    options = wait.get("options") or {}
    words = ["waits for", str(wait["kind"]), str(wait["id"])]
    detail = wait.get("question") or wait.get("signal") or wait.get("approvals")
    words += [one_line(detail)] if detail else []
    if choices := options.get("choices"):
        words += ["one of", one_line(choices)]
    if (wake_at := wait.get("wake_at")) is not None:
        words += ["until", f"{datetime.fromtimestamp(wake_at, UTC):%Y-%m-%d %H:%M:%S} UTC"]
    if wait.get("answered"):
        return Text(f"answered, not taken by the run yet: {' '.join(words[1:])}", "green")
    return Text(" ".join(words), "yellow")


def step_line(step: StepNode) -> Text:
    """Return a step: its state, what it is, what it used, and its failure."""
    words = [_MARKS[step.status], one_line(step.agent or step.kind)]
    words += [one_line(step.title)] if step.title else []
    words += [f"{step.usage.tokens} tokens"] if step.usage.tokens else []
    words += [f"{step.usage.cost:g} cost"] if step.usage.cost else []
    words += [f"{step.usage.seconds:.1f} s"] if step.usage.seconds >= 0.05 else []
    words += [one_line(step.error)] if step.error else []
    return Text(" ".join(words), _STYLES[step.status])


def _rest_line(steps: list[StepNode]) -> str:
    counts = Counter(step.status for step in steps)
    tokens = sum(step.usage.tokens for step in steps)
    detail = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"… {len(steps)} more: {detail}" + (f", {tokens} tokens" if tokens else "")


def console() -> Console:
    """Return the console of standard output, as wide as a pipe needs."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)
