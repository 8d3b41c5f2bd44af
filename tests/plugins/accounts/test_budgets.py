"""Budgets: what they take, and how a budget that is used up is reported."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import attrs
import pytest

from interpstack import ConfigurationError
from interpstack_accounts.api import Budget, BudgetExceeded

_NAMES = [field.name for field in attrs.fields(Budget) if field.name != "tool_requests"]
_BROKEN = {"cpu_seconds", "wall_seconds", "cost"}


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "5", [5]])
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"budget: {name} takes .* or None .*; got"):
        Budget(**{name: value})


def test_amounts_have_a_maximum_in_units_of_their_own() -> None:
    assert Budget(cost=1e12).cost == 1e12
    with pytest.raises(
        ConfigurationError, match=r"budget: cpu_seconds takes .*; got 1000000000000"
    ):
        Budget(cpu_seconds=10**12)


@pytest.mark.parametrize("name", _NAMES)
def test_only_some_may_be_broken(name: str) -> None:
    if name in _BROKEN:
        assert Budget(**{name: 0.5}).limit(name) == 0.5
        return
    with pytest.raises(ConfigurationError, match=f"{name} takes a whole number"):
        Budget(**{name: 0.5})


@pytest.mark.parametrize("value", [5, [("f", 1)], {"f": 0}, {"f": 1.5}, {"f": True}, {1: 1}])
def test_bad_tool_requests_are_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"budget: tool_requests takes .*; got"):
        Budget(tool_requests=value)


def test_limits_are_found_by_kind() -> None:
    budget = Budget(requests=5, tool_requests={"look": 2})
    assert budget.limit("requests") == 5
    assert budget.limit("tool_requests:look") == 2
    assert budget.limit("tool_requests:other") is None
    assert budget.limit("tokens") is None


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BudgetExceeded("requests", 5, 5), "the budget is used up: 5 of 5 requests"),
        (
            BudgetExceeded("tool_requests:look", 2, 2, account="this turn"),
            "the budget of this turn is used up: 2 of 2 calls of look",
        ),
        (
            BudgetExceeded("cost", 2.5, 1.5, asked=3),
            "the budget has too little left for this call: 1.5 of 2.5 cost used, 3 asked for",
        ),
    ],
)
def test_errors_tell_kind_limit_and_rest(error: BudgetExceeded, message: str) -> None:
    assert str(error) == message
    assert error.error.data["budget"] == error.kind


def test_a_budget_is_a_value() -> None:
    budget = Budget(requests=5, cost=2.5, tool_requests={"look": 2})
    same = Budget(requests=5, cost=2.5, tool_requests={"look": 2})
    assert len({budget, same, Budget(requests=5)}) == 2
    for made in (copy.copy(budget), copy.deepcopy(budget), pickle.loads(pickle.dumps(budget))):
        assert made == budget
        assert hash(made) == hash(budget)
        with pytest.raises(TypeError):
            made.tool_requests["look"] = 9


def test_an_error_survives_copies_and_pickles() -> None:
    error = BudgetExceeded("cost", 2.5, 1, reserved=1, asked=3, account="this turn")
    error.add_note("seen")
    for made in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(made), made.error, made.asked, made.reserved) == (str(error), error.error, 3, 1)
        assert made.__notes__ == ["seen"]
