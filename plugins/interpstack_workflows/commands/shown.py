"""Runs, events and results, as `interpstack workflow` prints them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from interpstack_workflows.runs.values import WorkflowResult
from interpstack_workflows.stores.store import RunRecord

__all__ = ["EventLines", "print_result", "run_table", "run_tree", "status_of"]

#: Characters of a text from a script that a line shows.
_SHOWN_CHARS: Final = 200
#: Statuses of runs that count as a success of the command.
_GOOD: Final = ("completed", "waiting")


class EventLines:
    """Prints events while a run goes on: lines for a person, JSON lines for a program.

    Args:
        as_json: Whether to print JSON lines.
    """

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def __call__(self, event: Mapping[str, Any]) -> None:
        if self._as_json:
            click.echo(json.dumps(event, ensure_ascii=True))
            return
        kind = str(event["type"]).removeprefix("workflow.")
        rest = {key: value for key, value in event.items() if key not in ("type", "runId", "scope")}
        words = " ".join(_one_line(value) for value in rest.values() if value not in (None, ""))
        click.echo(f"[{kind}] {words}".rstrip(), err=True)


def _one_line(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def print_result(result: WorkflowResult) -> None:
    """Print how a run stands, as JSON, to standard output."""
    data = {
        "runId": result.run_id,
        "status": result.status,
        "result": result.result,
        "error": result.error,
        "waitingFor": list(result.waiting_for),
        "usage": dict(result.usage),
        "census": dict(result.census),
    }
    click.echo(json.dumps(data, ensure_ascii=not sys.stdout.isatty(), indent=2))


def status_of(result: WorkflowResult) -> int:
    """The exit status: 0 for a run that has completed or waits, else 1."""
    return 0 if result.status in _GOOD else 1


def run_table(runs: list[RunRecord]) -> Table:
    """Runs, one in a row."""
    table = Table("run", "workflow", "status", "created", "agents", "tokens", box=None)
    for run in runs:
        created = datetime.fromtimestamp(run.created, UTC).strftime("%Y-%m-%d %H:%M:%S")
        tokens = run.usage.get("input_tokens", 0) + run.usage.get("output_tokens", 0)
        cells = (run.id, _one_line(run.name), run.status, created)
        table.add_row(*map(Text, cells), str(run.usage.get("agents", 0)), str(tokens))
    return table


def run_tree(run: RunRecord) -> Tree:
    """A run with what it waits for, its counts, and how it ended."""
    tree = Tree(Text(f"{run.id} {_one_line(run.name)}: {run.status}"))
    for wait in run.waiting_for:
        tree.add(Text(f"waits for {_one_line(dict(wait))}"))
    for kind in ("ok", "failed"):
        for name, count in (run.census.get(kind) or {}).items():
            tree.add(Text(f"{name}: {count} {kind}"))
    for name, amount in run.usage.items():
        tree.add(Text(f"{name}: {amount:g}"))
    if run.error is not None:
        tree.add(Text(f"{run.error.get('name')}: {_one_line(run.error.get('message'))}"))
    if run.status == "completed":
        tree.add(Text(f"result: {_one_line(run.result)}"))
    return tree


def console() -> Console:
    """The console of standard output, as wide as a pipe needs."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)
