"""The forms of what steps record."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_workflows.api import Entry, StepRecord, WorkflowError
from interpstack_workflows.steps.step_forms import check_entry

_CHILD = {"now": 1, "name": "n", "source": "s", "source_name": "n.js", "path": None, "spent": 0}
_APPROVAL = {"now": 1, "count": 1, "approvals": [{}], "attempt": 1, "faults": None}


def _entry(**fields: Any) -> Entry:
    return Entry(scope="root", now=1.0, settled=(StepRecord(name="a", **fields),))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"kind": "agent", "value": "any", "signature": '{"prompt": "p", "options": null}'},
        {"kind": "agent", "ok": False, "error": {"name": "E", "message": "m"}},
        {"kind": "agent", "started": True, "value": _APPROVAL, "usage": {"agents": 1}},
        {"kind": "workflow", "started": True, "value": _CHILD},
        {"kind": "sleep", "started": True, "value": {"now": 1.5}},
        {"kind": "sleep", "value": None},
        {"kind": "ask", "value": {"value": None}},
        {"kind": "wait", "value": {"value": [1], "message": 3}},
        {"kind": "ask", "ok": False, "error": {"name": "WaitTimeout"}},
    ],
)
def test_what_steps_record_is_taken(fields: Any) -> None:
    check_entry(_entry(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"signature": "x"},
        {"signature": "[]"},
        {"signature": '{"options": 1}'},
        {"signature": "9" * 5000},
        {"signature": "[" * 100_000},
        {"usage": {"tokens": 1}},
        {"usage": {"agents": -1}},
        {"ok": False, "error": {"name": 1}},
        {"kind": "ask", "value": None},
        {"kind": "ask", "value": {}},
        {"kind": "wait", "value": {"value": 1, "message": []}},
        {"kind": "sleep", "started": True, "value": {}},
        {"kind": "exec", "started": True, "value": {"now": "x"}},
        *(
            {"kind": kind, "started": True, "value": {**value, name: object()}}
            for kind, value in (("workflow", _CHILD), ("agent", _APPROVAL))
            for name in value
        ),
    ],
)
def test_other_values_are_refused(fields: Any) -> None:
    with pytest.raises(WorkflowError, match=r"is damaged: the \w+ of the step 'a' is malformed"):
        check_entry(_entry(**fields))


@pytest.mark.parametrize("budget", [{"spent": "1"}, {"total": []}, {"spent": float("inf")}])
def test_another_budget_is_refused(budget: Any) -> None:
    check_entry(Entry(scope="root", now=1.0, budget={"total": None, "spent": 3}))
    with pytest.raises(WorkflowError, match="the budget of an entry is malformed"):
        check_entry(Entry(scope="root", now=1.0, budget=budget))
