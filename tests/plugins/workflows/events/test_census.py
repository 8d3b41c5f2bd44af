"""The census counts ends of steps by kind, by agent and by error."""

from __future__ import annotations

from interpstack_workflows.events.census import Census
from interpstack_workflows.steps.entries import StepRecord


def failed(message: str, name: str = "ValueError") -> StepRecord:
    error = {"name": name, "message": message}
    return StepRecord(name="x", kind="agent", ok=False, error=error)


def test_steps_are_counted_by_kind_and_agent() -> None:
    census = Census()
    census.count(StepRecord(name="x", kind="agent"), "writer")
    census.count(StepRecord(name="y", kind="agent"), "writer")
    census.count(StepRecord(name="z", kind="sleep"))
    census.count(failed("no"), "judge")
    census.count(failed("no"), "writer")
    census.dropped(2)
    assert census.to_json() == {
        "ok": {"agent": 2, "sleep": 1},
        "failed": {"agent": 2},
        "dropped": 2,
        "agents": {"writer": {"ok": 2, "failed": 1}, "judge": {"failed": 1}},
        "errors": [{"name": "ValueError", "message": "no", "count": 2}],
    }


def test_errors_are_bounded() -> None:
    census = Census()
    for number in range(100):
        census.count(failed(f"{number} " + "x" * 10_000))
    errors = census.to_json()["errors"]
    assert len(errors) == 21
    assert max(len(error["message"]) for error in errors) == 200
    assert sum(error["count"] for error in errors) == 100
    assert errors[0] == {"name": "other", "message": "", "count": 80}


def test_the_order_of_steps_changes_nothing_and_children_report_dropped_failures() -> None:
    steps = [failed("b"), failed("a"), StepRecord(name="c", kind="workflow", dropped=3)]
    one, other = Census(), Census()
    for step in steps:
        one.count(step)
    for step in reversed(steps):
        other.count(step)
    assert one.to_json() == other.to_json()
    assert one.to_json()["dropped"] == 3


def test_an_empty_census() -> None:
    assert Census().to_json() == {"ok": {}, "failed": {}, "dropped": 0}
