"""Options say what they take, and who decides."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_workflows.api import BudgetLimits


def test_budgets_are_read_in_every_form() -> None:
    for given in (5, {"tokens": 5}, BudgetLimits(tokens=5)):
        options = WorkflowOptions(budget=given)  # type: ignore[arg-type]
        assert options.budget.to_json() == {"tokens": 5}
    assert WorkflowOptions().budget.to_json() == {}


def test_the_decider_depends_on_the_kind() -> None:
    options = WorkflowOptions(questions="model", approvals="interrupt", tool_prefix="w_")
    assert (options.decider("ask"), options.decider("approval")) == ("model", "interrupt")
    assert options.sends
    assert options.tool("start") == "w_start"
    assert not WorkflowOptions(questions="interrupt").sends
    assert WorkflowOptions(signals=True).sends


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"budget": {"toknes": 1}}, "any of tokens, cost, seconds, agents"),
        ({"budget": -1}, "tokens takes a whole number"),
        ({"max_running": True}, "max_running takes"),
        ({"max_wait_seconds": -1}, "max_wait_seconds takes a number of seconds from 0"),
        ({"max_wait_seconds": None}, "max_wait_seconds takes"),
        ({"wall_seconds": 0}, "above 0, or None"),
        ({"wall_seconds": float("nan")}, "above 0, or None"),
        ({"tool_prefix": "é"}, "tool_prefix takes"),
        ({"approvals": None}, "approvals takes one of"),
        ({"writes": 1}, "writes takes True or False"),
    ],
)
def test_wrong_values_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        WorkflowOptions(**given)
