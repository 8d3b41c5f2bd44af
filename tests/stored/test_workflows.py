"""Records of workflow runs: the files below `workflows` are as a release wrote them, and stay so.

Names of steps are a stored form too: with other names, a run would not find its records again.
"""

from __future__ import annotations

import json
from pathlib import Path

from interpstack_workflows.api import Entry, StepNames, StepRecord
from interpstack_workflows.steps.entries import entry_from_json, entry_to_json
from interpstack_workflows.steps.stages import AgentStage, approvals_of, stage_of
from interpstack_workflows.steps.step_forms import check_entry

STORED = json.loads((Path(__file__).parent / "workflows" / "entries-1.json").read_text())


def expected() -> list[Entry]:
    """The entries that were stored, with names and signatures made anew."""
    names = StepNames("root")
    asked = {"prompt": "hé", "options": {"label": "x"}}
    (first, signature), (second, _) = names.name("agent", asked), names.name("agent", asked)
    named, question = names.name("ask", {"question": "q"}, "mine")
    answered = StepRecord(
        name=first,
        signature=signature,
        kind="agent",
        value={"text": "\ud800 é", "n": 2**70},
        usage={"input_tokens": 3},
        request_id="1",
    )
    failed = StepRecord(
        name=second,
        signature=signature,
        kind="agent",
        ok=False,
        error={"name": "Error", "message": "no"},
        request_id="2",
    )
    waiting = StepRecord(
        name=named,
        signature=question,
        kind="ask",
        value={"since": 1001.0},
        request_id="3",
        started=True,
    )
    child, call = names.name("workflow", {"ref": "kid", "args": None})
    ended = StepRecord(
        name=child, signature=call, kind="workflow", value=1, request_id="4", dropped=2
    )
    return [
        Entry(
            scope="root",
            now=1000.5,
            settled=(answered, failed),
            budget={"total": 10, "spent": 3},
        ),
        Entry(scope="root", now=1001.0, settled=(waiting,)),
        Entry(scope="root", now=1002.0, settled=(ended,)),
    ]


def test_stored_entries_are_read() -> None:
    assert [entry_from_json(data) for data in STORED] == expected()


def test_entries_are_written_in_the_stored_form() -> None:
    assert [entry_to_json(entry) for entry in expected()] == STORED


ATTEMPTS = json.loads((Path(__file__).parent / "workflows" / "attempts-1.json").read_text())


def test_stored_stages_of_agents_are_read() -> None:
    entries = [entry_from_json(data) for data in ATTEMPTS]
    for entry in entries:
        check_entry(entry)
    steps = [step for entry in entries for step in entry.settled]
    faults = ["$: 'x' is not of type 'object'"]
    work = {"patch": "", "base": "0", "files": [], "id": "7"}
    assert [stage_of(step) for step in steps] == [
        AgentStage(2, since=1000.5),
        AgentStage(2, faults, work),
        AgentStage(2),
    ]
    assert [approvals_of(step) for step in steps] == [None, None, [{"id": "a1"}]]


def test_stages_of_agents_are_written_in_the_stored_form() -> None:
    entries = [entry_from_json(data) for data in ATTEMPTS]
    assert [entry_to_json(entry) for entry in entries] == ATTEMPTS
    stored = dict(ATTEMPTS[0]["settled"][0]["value"])
    del stored["count"], stored["now"]
    assert AgentStage(2, since=1000.5).to_json() == stored
