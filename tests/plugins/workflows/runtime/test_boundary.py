"""Values of the boundary check what they are made of."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_workflows.runtime.boundary import LogCall, ModuleBudget, WorkflowModuleInput


@pytest.mark.parametrize(
    "values", [{"total": -1}, {"total": 1.5}, {"total": True}, {"spent": -1}, {"spent": None}]
)
def test_a_budget_takes_counts(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="a whole number, 0 or more"):
        ModuleBudget(**values)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source": b""}, "takes a string"),
        ({"source": "", "source_name": "a.py"}, r"a file name that ends in \.js"),
        ({"source": "", "source_name": "a:b.js"}, r"a file name that ends in \.js"),
        ({"source": "", "modules": ["a"]}, "sources by specifier"),
        ({"source": "", "modules": {"plain": ""}}, "specifiers with a scheme of their own"),
        ({"source": "", "modules": {"workflow:x": ""}}, "specifiers with a scheme of their own"),
        ({"source": "", "memory_bytes": 1}, "memory_bytes"),
        ({"source": "", "requests": 0}, "requests"),
        ({"source": "", "seed": "1"}, "an integer or None"),
    ],
)
def test_an_input_names_what_it_takes(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        WorkflowModuleInput(**fields)


def test_a_log_is_one_line_of_its_values() -> None:
    assert LogCall(("a", {"b": [1]}, None, "c d")).text == 'a {"b":[1]} null c d'
