"""Budgets are enforced, whatever simultaneous calls report, and when."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import ConfigurationError
from interpstack_accounts.api import BudgetExceeded
from interpstack_workflows.budgets.budget import BudgetLimits, RunBudget
from interpstack_workflows.budgets.usage import WorkflowUsage


@given(st.integers(0, 2**32), st.integers(0, 500))
def test_calls_that_say_their_maximum_never_exceed_a_limit(seed: int, limit: int) -> None:
    chance = random.Random(seed)
    budget = RunBudget(BudgetLimits(tokens=limit))
    flying: list[tuple[Any, int]] = []
    for _ in range(200):
        if len(flying) < 64 and chance.random() < 0.6:
            most = chance.randint(1, 40)
            try:
                flying.append((budget.reserve(WorkflowUsage(output_tokens=most)), most))
            except BudgetExceeded:
                continue
        elif flying:
            reservation, most = flying.pop(chance.randrange(len(flying)))
            if chance.random() < 0.2:
                reservation.release()
            else:
                reservation.commit(WorkflowUsage(output_tokens=chance.randint(0, most)).amounts())
        assert budget.spent <= limit


@given(st.integers(0, 2**32))
def test_calls_without_a_maximum_exceed_by_one_each(seed: int) -> None:
    chance = random.Random(seed)
    budget = RunBudget(BudgetLimits(tokens=100))
    flying = []
    most = 0
    for _ in range(300):
        if len(flying) < 64 and chance.random() < 0.7:
            with suppress(BudgetExceeded):
                flying.append(budget.reserve(WorkflowUsage(agents=1)))
        elif flying:
            used = chance.randint(0, 30)
            flying.pop().commit(WorkflowUsage(input_tokens=used).amounts())
        most = max(most, len(flying))
    for reservation in flying:
        reservation.commit(WorkflowUsage(input_tokens=30).amounts())
    assert budget.spent < 100 + 30 * most
    with pytest.raises(BudgetExceeded):
        RunBudget(BudgetLimits(tokens=0)).reserve(WorkflowUsage())


def test_an_agent_more_than_allowed_is_refused_at_once() -> None:
    budget = RunBudget(BudgetLimits(agents=2))
    first = budget.reserve(WorkflowUsage(agents=1))
    budget.reserve(WorkflowUsage(agents=1))
    with pytest.raises(BudgetExceeded) as raised:
        budget.reserve(WorkflowUsage(agents=1))
    assert str(raised.value) == (
        "the budget of the run is used up: 0 of 2 agents, 2 reserved by calls in flight"
    )
    first.release()
    budget.reserve(WorkflowUsage(agents=1))


def test_inner_budgets_apply_inside_the_outer_one() -> None:
    budget = RunBudget(BudgetLimits(tokens=100), {"draft": BudgetLimits(tokens=30)})
    budget.reserve(WorkflowUsage(output_tokens=30), ["draft"]).commit(
        WorkflowUsage(output_tokens=20).amounts()
    )
    little = "has too little left for this call"
    with pytest.raises(BudgetExceeded, match=f"'draft' {little}: 20 of 30 tokens used"):
        budget.reserve(WorkflowUsage(output_tokens=20), ["draft", None])
    budget.reserve(WorkflowUsage(output_tokens=80), ["other"]).commit(
        WorkflowUsage(output_tokens=75).amounts()
    )
    assert budget.remaining() == {"tokens": 5, "cost": None, "seconds": None, "agents": None}
    assert budget.remaining("draft")["tokens"] == 10
    with pytest.raises(BudgetExceeded, match=f"the run {little}: 95 of 100 tokens used"):
        budget.reserve(WorkflowUsage(output_tokens=8), ["draft"])
    budget.reserve(WorkflowUsage(output_tokens=5), ["draft"])  # the refused call reserved nothing


def test_late_reports_are_counted() -> None:
    budget = RunBudget(BudgetLimits(cost=1.0))
    reservation = budget.reserve(WorkflowUsage(cost=0.5))
    reservation.release()
    reservation.release()
    assert budget.remaining()["cost"] == 1.0
    reservation.commit(WorkflowUsage(cost=0.3).amounts())
    reservation.commit(WorkflowUsage(cost=0.1).amounts())
    assert budget.used.cost == pytest.approx(0.4)


def test_recorded_steps_count_without_being_refused() -> None:
    budget = RunBudget(BudgetLimits(tokens=10, seconds=1.5))
    budget.replayed(WorkflowUsage(output_tokens=9, seconds=2.0))
    assert (budget.total, budget.spent) == (10, 9)
    assert budget.remaining()["seconds"] == 0
    with pytest.raises(BudgetExceeded, match=r"2 of 1\.5 seconds"):
        budget.reserve(WorkflowUsage())


@pytest.mark.parametrize(
    "fields",
    [{"tokens": -1}, {"tokens": 1.5}, {"agents": True}, {"cost": "1"}, {"seconds": float("nan")}],
)
def test_limits_are_numbers(fields: Any) -> None:
    with pytest.raises(ConfigurationError, match="0 or more, or None; got"):
        BudgetLimits(**fields)


def test_limits_are_stored() -> None:
    limits = BudgetLimits(tokens=5, cost=0.5)
    assert limits.to_json() == {"tokens": 5, "cost": 0.5}
    assert BudgetLimits(**limits.to_json()) == limits
    assert RunBudget(limits).limits == limits
