"""Usage: amounts that add up, and their stored form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import ConfigurationError
from interpstack_workflows.budgets.usage import WorkflowUsage

_counts = st.integers(0, 10**9)
_amounts = st.floats(0, 1e6)
usages = st.builds(
    WorkflowUsage,
    input_tokens=_counts,
    output_tokens=_counts,
    cost=_amounts,
    seconds=_amounts,
    agents=_counts,
)


@given(usages)
def test_a_usage_is_stored(usage: WorkflowUsage) -> None:
    assert WorkflowUsage.from_json(usage.to_json()) == usage


@given(usages, usages)
def test_usages_add_up(one: WorkflowUsage, other: WorkflowUsage) -> None:
    both = one + other
    assert both == other + one
    assert both.tokens == one.tokens + other.tokens
    assert one + WorkflowUsage() == one


@pytest.mark.parametrize(
    "fields",
    [
        {"input_tokens": -1},
        {"input_tokens": 1.5},
        {"agents": True},
        {"cost": float("nan")},
        {"cost": -0.5},
        {"seconds": float("inf")},
        {"cost": "1"},
    ],
)
def test_other_amounts_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="0 or more; got"):
        WorkflowUsage(**fields)


@pytest.mark.parametrize("data", [{"tokens": 1}, [], {"cost": -1}])
def test_other_data_are_refused(data: Any) -> None:
    with pytest.raises(ConfigurationError):
        WorkflowUsage.from_json(data)
