"""What the command prints."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from rich.console import Console

from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.commands.rendering import (
    print_result,
    run_table,
    run_tree,
    status_of,
)
from interpstack_workflows.events.tree import RunTree, StepNode, WorkflowNode
from interpstack_workflows.runs.values import WorkflowResult
from interpstack_workflows.stores.records import WorkflowRecord


def printed(what: Any) -> str:
    text = io.StringIO()
    Console(width=400, file=text).print(what)
    return text.getvalue()


@pytest.mark.parametrize(
    ("status", "code"), [("completed", 0), ("waiting", 0), ("failed", 1), ("cancelled", 1)]
)
def test_statuses(status: Any, code: int) -> None:
    assert status_of(WorkflowResult(run_id="r", status=status)) == code


def test_a_result_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_result(WorkflowResult(run_id="r", status="completed", result={"a": "\ud800 é"}))
    data = json.loads(capsys.readouterr().out)
    assert (data["runId"], data["result"]) == ("r", {"a": "\ud800 é"})


def test_a_result_cannot_command_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    value = {"a\x9b": "\x1b[2J\x9b2J\x7f\u202eé"}
    print_result(WorkflowResult(run_id="r", status="completed", result=value))
    assert terminal.getvalue().replace("\n", "").isprintable()
    assert "é" in terminal.getvalue()
    assert json.loads(terminal.getvalue())["result"] == value


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (
            {"kind": "ask", "question": "Go?\x1b", "options": {"choices": ["yes", 2]}},
            'waits for ask root/s Go?  one of ["yes", 2]',
        ),
        (
            {"kind": "sleep", "wake_at": 86400.0},
            "waits for sleep root/s until 1970-01-02 00:00:00 UTC",
        ),
        ({"kind": "signal", "signal": "go"}, "waits for signal root/s go"),
        (
            {"kind": "approval", "approvals": [{"id": "a"}]},
            'waits for approval root/s [{"id": "a"}]',
        ),
    ],
)
def test_waits_say_how_they_end(wait: Any, expected: str) -> None:
    run = WorkflowRecord(
        id="r", name="n", status="waiting", waiting_for=({"id": "root/s", **wait},)
    )
    assert expected in printed(run_tree(run, RunTree()))


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_table_of_runs_loses_nothing(width: int) -> None:
    run = WorkflowRecord(id="run_01m87g9x5x80qeywjs28jh2rf4", name="research", status="completed")
    text = io.StringIO()
    Console(width=width, file=text).print(run_table([run], width))
    rows = text.getvalue().splitlines()
    assert max(map(len, rows)) <= width
    ids = "".join(row.split(" ")[0] for row in rows)
    assert run.id in (ids if width < 60 else text.getvalue())
    assert "…" not in text.getvalue()


def test_runs_are_rows_and_trees() -> None:
    run = WorkflowRecord(
        id="run_1",
        name="[bold]n[/]",
        status="failed",
        usage={"agents": 2, "output_tokens": 7, "cost": 0.0125},
        census={"ok": {"agent": 1}, "failed": {"agent": 1}},
        error={"name": "Error", "message": "x" * 500},
        waiting_for=({"id": "root/s", "kind": "ask", "question": "Go?"},),
    )
    row = printed(run_table([run], 400))
    assert "run_1" in row
    assert "[bold]n[/]" in row
    assert row.splitlines()[1].split()[-3:] == ["2", "7", "0.0125"]
    found = RunTree()
    found.root.entered("Find [it]")
    for number in range(30):
        found.root.steps[f"s{number}"] = StepNode(
            "agent", f"[red]p{number}[/]", "ok", "Find [it]", usage=WorkflowUsage(output_tokens=5)
        )
    found.root.steps["s25"].stands("failed", "Error: no\x1b[0m")
    found.root.steps["kid"] = StepNode("workflow", "child")
    found.root.children["kid"] = WorkflowNode("child", steps={"x": StepNode("sleep", "5")})
    tree = printed(run_tree(run, found))
    assert "✗ agent [red]p25[/] 5 tokens Error: no [0m" in tree
    assert "✓ agent [red]p18[/] 5 tokens" in tree
    assert "p19" not in tree
    assert "… 10 more: 10 ok, 50 tokens" in tree
    assert "… workflow child" in tree
    assert "… sleep 5" in tree
    assert "waits for" in tree
    assert "…" in tree
    assert "result" not in tree
