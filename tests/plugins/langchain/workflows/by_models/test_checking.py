"""Reports on workflows before they run."""

from __future__ import annotations

from interpstack_langchain.workflows.by_models.checking import report
from interpstack_workflows.api import Rehearsal, RehearsedStep, ScriptFault


def step(what: str, agent: str | None = "reader", kind: str = "agent") -> RehearsedStep:
    return RehearsedStep(kind=kind, what=what, workflow="w", agent=agent)


def test_a_report_counts_calls_and_lists_faults_with_their_places() -> None:
    found = Rehearsal(
        steps=(step("a"), step("b"), step("c"), step("kid", None, "workflow")),
        phases=("One", "Two"),
        faults=(ScriptFault(message="Unknown agent: x", line=3, column=7),),
        error=ScriptFault(message="TypeError: no", line=5),
        stopped="after 500 steps",
    )
    fine, text = report(found, "w.js")
    assert not fine
    assert text.splitlines() == [
        "2 errors; nothing has run",
        "error: w.js:3:7: Unknown agent: x",
        "error: w.js:5: TypeError: no (with made-up answers of agents and people)",
        "phases: One, Two",
        "would call agent reader 3 times: 'a', 'b', …",
        "would call workflow once: 'kid'",
        "the dry run was stopped after 500 steps; it may continue beyond that",
    ]


def test_an_error_that_repeats_a_fault_is_reported_once() -> None:
    fault = ScriptFault(message="Unknown workflow: x", line=1, column=1)
    error = ScriptFault(message="UnknownWorkflow: Unknown workflow: x")
    _, text = report(Rehearsal(faults=(fault,), error=error), "w.js")
    assert text.splitlines()[0] == "1 error; nothing has run"


def test_hostile_texts_are_bounded() -> None:
    steps = tuple(step(f"\x1b[31m{n}" * 50, f"agent {n}\n") for n in range(500))
    fine, text = report(Rehearsal(steps=steps, ends=True), "w.js")
    assert fine
    assert len(text) < 4100
    assert text.endswith("more lines")
    assert "\x1b" not in text


def test_a_workflow_that_calls_nothing_says_so() -> None:
    assert report(Rehearsal(ends=True), "w")[1].endswith("would call nothing")
