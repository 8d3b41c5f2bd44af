"""Recorded steps count once, in all their budgets."""

from __future__ import annotations

import json

import pytest

from interpstack_accounts.api import BudgetExceeded
from interpstack_workflows.budgets.budget import BudgetLimits
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.runs.run_budgets import spent_budget, stored_limits
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.stores.records import WorkflowRecord


def test_limits_are_stored_as_json() -> None:
    limits = stored_limits(5, {"A": {"agents": 2}, "child": BudgetLimits(cost=1.5)})
    assert limits == {"tokens": 5, "inner": {"A": {"agents": 2}, "child": {"cost": 1.5}}}
    assert stored_limits(None) == {}
    assert json.loads(json.dumps(limits)) == limits


def _agent(name: str, phase: str | None, tokens: int) -> StepRecord:
    signature = json.dumps({"kind": "agent", "options": {"phase": phase}})
    usage = {"output_tokens": tokens, "agents": 1}
    return StepRecord(name=name, kind="agent", signature=signature, usage=usage)


def test_spend_is_rebuilt_for_phases_and_children() -> None:
    record = WorkflowRecord(
        id="run_a", budget=stored_limits(100, {"A": {"agents": 3}, "kid": {"tokens": 9}})
    )
    begun = StepRecord(name="c", kind="workflow", value={"name": "kid"}, started=True)
    entries = [
        Entry(scope="root", now=1.0, settled=(_agent("a", "A", 5), _agent("b", None, 1))),
        Entry(scope="root", now=1.0, settled=(begun,)),
        Entry(scope="root/c", now=1.0, settled=(_agent("d", "A", 7),)),
    ]
    budget = spent_budget(record, entries)
    assert budget.used == WorkflowUsage(output_tokens=13, agents=3)
    assert budget.remaining("A")["agents"] == 1
    assert budget.remaining("kid")["tokens"] == 2
    with pytest.raises(BudgetExceeded, match="'kid'"):
        budget.reserve(WorkflowUsage(output_tokens=3), ["kid"])


def test_a_run_without_limits_counts_too() -> None:
    entries = [Entry(scope="root", now=1.0, settled=(_agent("a", "A", 5),))]
    assert spent_budget(WorkflowRecord(id="run_a"), entries).spent == 5
