"""Messages of the guest, and answers to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_workflows.runtime.boundary import (
    AgentRequest,
    FailedResolution,
    LogCall,
    ModuleBudget,
    PhaseCall,
    UndefinedResolution,
    ValueResolution,
)
from interpstack_workflows.runtime.requests import (
    budget_pair,
    read_calls,
    read_request,
    settlement,
)


def test_a_request_is_read() -> None:
    assert read_request("workflow.agent", ["3", "p", '{"a": 1}']) == AgentRequest(
        "3", "p", {"a": 1}
    )


@pytest.mark.parametrize("wire", [[], ["1"], None, ["1", "p", None, None]])
def test_damaged_requests(wire: Any) -> None:
    with pytest.raises(EngineFailure, match="the guest's memory is damaged: a request 'agent'"):
        read_request("workflow.agent", wire)
    with pytest.raises(EngineFailure, match="damaged"):
        read_request("workflow.unknown", ["1"])


def test_a_text_that_is_no_json_is_the_scripts_fault() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_request("workflow.agent", ["1", "p", "[" * 100_000])


def test_calls_are_read_in_order() -> None:
    calls = list(read_calls([["log", ['"a"', "1"]], ["phase", "P", None]]))
    assert calls == [LogCall(("a", 1)), PhaseCall("P")]
    with pytest.raises(EngineFailure, match="damaged"):
        list(read_calls([["log"]]))


@pytest.mark.parametrize(
    ("resolution", "text"),
    [
        (ValueResolution({"a": 1}), [{"a": 1}, [9, 2], False]),
        (UndefinedResolution(), [None, [9, 2], True]),
    ],
)
def test_settlements(resolution: Any, text: Any) -> None:
    made = settlement(4, resolution, ModuleBudget(9, 2), 1000)
    assert (made.id, json.loads(made.text), made.error) == (4, text, None)


def test_values_that_cannot_cross_are_errors() -> None:
    for value in (object(), "x" * 2000):
        made = settlement(4, ValueResolution(value), None, 1000)
        assert made.error is not None
        assert made.error.name == "ToolError"


def test_rejections() -> None:
    made = settlement(4, FailedResolution("m", "N", {"a": 1}, escapes=True), None, 1000)
    assert made.error is not None
    assert (made.error.name, made.error.message) == ("N", "m")
    assert made.error.data == {"a": 1, "$workflow": [True, None]}


def test_options_are_objects() -> None:
    for text in ("5", "[]", "null", '"s"'):
        with pytest.raises(ValueError, match="the options of a request are not an object"):
            read_request("workflow.agent", ["1", "p", text])


def test_a_log_of_a_deep_value_is_text() -> None:
    deep = "[" * 100_000
    assert list(read_calls([["log", [deep, "1"]]])) == [LogCall((deep, 1))]


def test_a_budget_as_the_guest_reads_it() -> None:
    assert budget_pair(None) is None
    assert budget_pair(ModuleBudget(None, 3)) == [None, 3]
