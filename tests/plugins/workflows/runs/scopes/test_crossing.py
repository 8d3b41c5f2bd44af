"""Modules get the input of their scope and the resolutions of their requests."""

from __future__ import annotations

import pytest

from interpstack_workflows.runs.scopes.crossing import module_input, resolution
from interpstack_workflows.runs.values import ScopePlace, Script
from interpstack_workflows.runtime.boundary import (
    FailedResolution,
    ModuleBudget,
    UndefinedResolution,
    ValueResolution,
    ValueWithBudget,
)
from interpstack_workflows.steps.entries import StepRecord


def _place(scope: str) -> ScopePlace:
    return ScopePlace(scope=scope, script=Script("x"), args=[1], names=("n",), spent=3)


def test_scopes_of_a_run_have_seeds_of_their_own_that_stay() -> None:
    first, again, child = (module_input(_place(s), 7, 10, {}) for s in ("root", "root", "root/a"))
    assert first.seed == again.seed
    assert first.seed != child.seed
    assert (first.args, first.budget) == ([1], ModuleBudget(10, 3))


def test_values_come_with_the_budget_of_their_time() -> None:
    step = StepRecord(name="a", kind="agent", value="v")
    assert resolution(step, {"total": 9, "spent": 2}) == ValueWithBudget("v", ModuleBudget(9, 2))
    assert resolution(step, {}) == ValueResolution("v")
    assert resolution(StepRecord(name="a", kind="sleep"), {}) == UndefinedResolution()
    asked = StepRecord(name="a", kind="ask", value={"message": 3, "value": "yes"})
    assert resolution(asked, {}) == ValueResolution("yes")


@pytest.mark.parametrize(("name", "escapes"), [("ValueError", False), ("BudgetExceeded", True)])
def test_failures_escape_by_their_name(name: str, escapes: bool) -> None:
    step = StepRecord(name="a", ok=False, error={"name": name, "message": "m", "data": {"k": 1}})
    resolved = resolution(step, {"total": None, "spent": 4})
    assert resolved == FailedResolution(
        "m", name, {"k": 1}, escapes=escapes, budget=ModuleBudget(None, 4)
    )
