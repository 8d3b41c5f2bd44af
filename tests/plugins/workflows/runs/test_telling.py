"""Events and the census of a run."""

from __future__ import annotations

from typing import Any

from interpstack_workflows.runs.telling import RunTeller
from interpstack_workflows.steps.entries import StepRecord


def test_events_name_their_run_and_scope() -> None:
    told: list[Any] = []
    RunTeller("run_a", told.append).tell("log", "root", message="hello")
    assert told == [{"type": "workflow.log", "runId": "run_a", "scope": "root", "message": "hello"}]


def test_ends_of_steps_are_counted_by_kind() -> None:
    teller = RunTeller("run_a", lambda event: None)
    for kind, ok in (("agent", True), ("agent", True), ("agent", False), ("sleep", True)):
        teller.count(StepRecord(name="x", kind=kind, ok=ok))
    teller.dropped(2)
    assert teller.census() == {
        "ok": {"agent": 2, "sleep": 1},
        "failed": {"agent": 1},
        "dropped": 2,
    }
