"""Runs of workflows: trees that fit a page."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_inspect.serving import workflow_views
from interpstack_inspect.serving.workflow_views import FILTERS, pruned
from interpstack_workflows.api import RunTree, StepNode, WorkflowNode, WorkflowRecord, WorkflowUsage


def _tree() -> RunTree:
    tree = RunTree("root")
    tree.root.steps.update(
        {
            "a": StepNode("agent", "first", "ok", "one"),
            "b": StepNode("agent", "second", "failed", "one", error="Error: no"),
            "c": StepNode("workflow", "inner", "running"),
        }
    )
    tree.root.entered("one")
    tree.root.entered("two")
    child = WorkflowNode("inner")
    child.steps["d"] = StepNode("ask", "sure?", "waiting", "lost")
    tree.root.children["c"] = child
    return tree


def test_steps_by_phase() -> None:
    found = [
        (phase, [name for name, _ in steps]) for phase, steps in FILTERS["phases"](_tree().root)
    ]
    assert found == [(None, ["c"]), ("one", ["a", "b"]), ("two", [])]
    (only,) = FILTERS["phases"](_tree().root.children["c"])
    assert [name for name, _ in only[1]] == ["d"]
    assert list(FILTERS["phases"](WorkflowNode("empty"))) == [(None, [])]


@pytest.mark.parametrize(("most", "left"), [(9, "abcd"), (3, "bcd"), (1, "b"), (0, "")])
def test_steps_that_have_succeeded_are_left_out_first(
    most: int, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow_views, "_MOST_STEPS", most)
    tree = _tree()
    assert pruned(tree) == 4 - len(left)
    names = [*tree.root.steps, *tree.root.children["c"].steps]
    assert "".join(sorted(names)) == left


def test_values_times_and_tokens() -> None:
    assert FILTERS["json"]({"a": "é"}) == '{\n  "a": "é"\n}'
    assert len(FILTERS["json"]("x" * 30_000)) == 20_001
    assert FILTERS["tokens"](WorkflowUsage(input_tokens=2, output_tokens=3)) == 5


def test_the_reason_for_the_state_of_a_run() -> None:
    def reason(**given: Any) -> str:
        return str(FILTERS["reason"](WorkflowRecord(id="r", **given)))

    failed = {"name": "ValueError", "message": "no orders"}
    assert reason(status="failed", error=failed) == "ValueError: no orders"
    waits: list[dict[str, Any]] = [
        {"kind": "ask", "question": "Ship?"},
        {"kind": "signal", "signal": "paid"},
        {"kind": "approval", "approvals": [{"tool": "pay"}, {"value": 1}]},
        {"kind": "sleep"},
    ]
    assert reason(status="waiting", waiting_for=waits) == (
        "question: Ship?; signal paid; approval of pay, a value; sleep"
    )
    assert reason(status="completed") == ""
