"""Open questions are read from records alone."""

from __future__ import annotations

from interpstack_workflows.runs.reading.open_questions import open_questions
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.steps.names import canonical


def entry(scope: str, *steps: StepRecord) -> Entry:
    return Entry(scope=scope, now=1.0, settled=steps, budget={})


def asked(name: str, question: str) -> StepRecord:
    signature = canonical({"kind": "ask", "question": question, "options": {"choices": ["a"]}})
    return StepRecord(name=name, kind="ask", signature=signature, value={"now": 5.0}, started=True)


def paused(name: str, count: int) -> StepRecord:
    value = {"now": 6.0, "approvals": [{"id": "pay"}], "count": count}
    return StepRecord(name=name, kind="agent", value=value, started=True)


def test_questions_that_were_answered_are_not_open() -> None:
    entries = [
        entry("root", asked("one", "First?"), asked("two", "Second?")),
        entry("root/child", asked("one", "Third?")),
        entry("root", StepRecord(name="one", kind="ask", value={"message": 1, "value": "a"})),
    ]
    assert open_questions(entries) == [
        {
            "id": "root/two",
            "kind": "ask",
            "since": 5.0,
            "question": "Second?",
            "options": {"choices": ["a"]},
        },
        {
            "id": "root/child/one",
            "kind": "ask",
            "since": 5.0,
            "question": "Third?",
            "options": {"choices": ["a"]},
        },
    ]


def test_the_last_approval_of_an_agent_is_open_until_the_agent_ends() -> None:
    entries = [entry("root", paused("agent", 1)), entry("root", paused("agent", 2))]
    assert open_questions(entries) == [
        {"id": "root/agent:2", "kind": "approval", "since": 6.0, "approvals": [{"id": "pay"}]}
    ]
    failed = StepRecord(name="agent", kind="agent", ok=False, error={"name": "E", "message": ""})
    assert open_questions([*entries, entry("root", failed)]) == []


def test_other_steps_that_last_are_no_questions() -> None:
    steps = [
        StepRecord(name=kind, kind=kind, value={"now": 1.0}, started=True)
        for kind in ("sleep", "wait", "workflow", "exec")
    ]
    assert open_questions([entry("root", *steps)]) == []
