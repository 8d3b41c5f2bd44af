"""Runs as models read them: short, printable, and without the rest of the result."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_langchain.workflows.by_models.run_views import RunView, listed
from interpstack_workflows.api import RunTree, StepNode, WorkflowNode, WorkflowRecord


def view(
    record: WorkflowRecord, tree: RunTree | None = None, waits: Any = (), **options: Any
) -> RunView:
    return RunView(
        record=record,
        tree=tree or RunTree("w"),
        waits=waits,
        options=WorkflowOptions(**options),
    )


def record(status: Any = "running", **fields: Any) -> WorkflowRecord:
    return WorkflowRecord(id="run_1", name="w", status=status, **fields)


_WAITS = [
    {"id": "root/a", "kind": "ask", "question": "Ship?", "options": {"choices": ["yes", "no"]}},
    {"id": "root/b:1", "kind": "approval", "approvals": [{"id": "x", "tool": "rm"}]},
    {"id": "root/c", "kind": "signal", "signal": "go"},
    {"id": "root/d", "kind": "sleep", "wake_at": 5.0},
]


def test_waits_say_who_may_end_them() -> None:
    assert view(record(), waits=_WAITS).text().splitlines() == [
        "run run_1 'w': waiting; 0 agents, 0 tokens",
        'waits for question root/a: \'Ship?\', one of ["yes","no"]; a person answers it, not you',
        'waits for approval root/b:1: [{"id":"x","tool":"rm"}]; a person answers it, not you',
        "waits for signal 'go'; it is sent from outside",
        "waits until a set time; it continues by itself",
    ]
    may = view(record(), waits=_WAITS, questions="model", approvals="model", signals=True)
    assert may.text().count("workflow_send") == 3
    assert [one["id"] for one in may.asks] == ["root/a", "root/b:1"]


def test_work_is_counted_by_phase_and_child() -> None:
    tree = RunTree("w")
    tree.root.phases += ["One", "Two"]
    for number in range(20):
        step = StepNode("agent", f"step {number}", phase="One", agent="reader")
        tree.root.steps[f"s{number}"] = step
    tree.root.steps["s0"].stands("failed", "ValueError: no")
    tree.root.steps["s1"].stands("ok")
    child = tree.root.children["k"] = WorkflowNode("kid")
    child.steps["c"] = StepNode("wait", "go", "waiting")
    text = view(record(), tree, [_WAITS[2]]).text()
    assert text.splitlines()[:6] == [
        "run run_1 'w': running; 20 agents, 0 tokens",
        "phase 'One': 1 ok, 1 failed, 18 running",
        "phase 'Two': nothing yet",
        "workflow 'kid': running",
        "  steps without a phase: 1 waiting",
        "at work: reader 'step 2'",
    ]
    assert "… 10 more at work\nfailed: reader 'step 0': ValueError: no" in text


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_hostile_texts_are_bounded(status: Any) -> None:
    evil = "\x1b[2J\n" * 20_000
    tree = RunTree(evil)
    for number in range(500):
        tree.root.phases.append(f"{number}{evil}")
        tree.root.steps[str(number)] = StepNode("agent", evil, "failed", str(number), evil)
    error = {"name": evil, "message": evil, "stack": f"at x\n{evil}"}
    census = {"errors": [{"name": evil, "message": evil, "count": 2}] * 100, "dropped": 3}
    made = record(status, result=[evil] * 10, error=error, census=census)
    text = view(made, tree, [{"id": "a", "kind": "ask", "question": evil}] * 100).text()
    assert len(text) < 9000
    assert "\x1b" not in text
    assert len(listed([made] * 1000)) < 3100


async def test_an_end_shows_its_error_and_the_place() -> None:
    async with runner(Prompts()) as one:
        failed = await one.run(script("await agent('a');\nthrow new RangeError('too far')"))
        text = view(await one.show(failed.run_id), await one.tree(failed.run_id)).text()
        assert text.splitlines() == [
            f"run {failed.run_id} 'tested': failed; 1 agents, 0 tokens",
            "steps without a phase: 1 ok",
            "error: RangeError: too far",
            "at default (workflow.js:5:11)",
        ]
        done = await one.run(script("return 'x'.repeat(50)"))
        text = view(await one.show(done.run_id), max_result_chars=10).text()
        assert text.splitlines()[1:] == [
            'result (52 characters, the beginning): "xxxxxxxx…',
            "read the rest with workflow_result(run, path, offset)",
        ]


def test_runs_are_listed() -> None:
    assert listed([]) == "no runs"
    assert listed([record("waiting"), record("failed")]) == (
        "run_1 'w': waiting\nrun_1 'w': failed"
    )
