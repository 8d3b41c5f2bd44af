"""Tests of interpstack_javascript.execution: the part that all engines with the kernel share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from interpstack import Cell, EngineFailure, GuestError, Progress, Settlement
from interpstack_javascript.errors import SourceError
from interpstack_javascript.execution import KernelExecution
from interpstack_javascript.modules import ModuleTable

_IDLE = {"calls": [], "requests": [], "cancelled": [], "rejected": [], "importing": 0, "idle": True}
_VALUE = {"text": "2", "omitted": 0, "exact": True, "handle": False, "undefined": False}


class _Execution(KernelExecution):
    """Says what it was told of an error."""

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        raise AssertionError("nothing polls it")

    def abort(self, reason: str) -> Progress:
        raise AssertionError("nothing aborts it")

    def _error(self, found: Mapping[str, str], place: Sequence[int] | None) -> GuestError:
        return GuestError(found["name"], f"{found['message']} at {place}")


@pytest.fixture
def execution() -> _Execution:
    cell = Cell(source="1", name="cell-3", seed=2**32 + 5, value_name="_")
    return _Execution(cell, ModuleTable(), "script.js")


def test_begin_tells_the_seed_and_all_about_the_cell(execution: _Execution) -> None:
    words, about = execution._begin_arguments(1500.0, live=True)
    assert words == [5, 1, 0, 0]
    assert about == {
        "now": 1500.0,
        "script": "script.js",
        "label": "cell-3",
        "live": True,
        "valueName": "_",
    }


def test_each_answer_is_reported_once(execution: _Execution) -> None:
    execution.settle([Settlement(1, "7")])
    execution.settle([Settlement(2, error=GuestError("Error", "no"))])
    assert json.loads(execution._resume_command(9.0)) == [
        "resume",
        9.0,
        [[1, False, 7], [2, True, {"name": "Error", "message": "no", "data": {}}]],
    ]
    assert json.loads(execution._resume_command(10.0)) == ["resume", 10.0, []]


def test_modules_that_come_with_an_answer_can_be_loaded(execution: _Execution) -> None:
    execution.settle([Settlement(1, '"@/skills/a"', modules={"@/skills/a": "export default 1"})])
    assert "export default 1" in execution._modules.load("@/skills/a")


def test_a_source_that_does_not_parse_ends_the_cell(execution: _Execution) -> None:
    completion = execution._refused(SourceError("no", 0)).completion
    assert completion is not None
    assert completion.error is not None
    assert (completion.error.name, completion.error.message) == ("SyntaxError", "no")
    assert completion.error.stack == f"    at {execution._cell.name}:1:1"


@pytest.mark.parametrize(
    "place", [None, [1], [1, 0], [0, 0], [-1, 5], [9, 1], [1, 99], [2**31, 2**31], ["1", "1"]]
)
def test_a_place_that_the_source_does_not_have_is_not_shown(
    execution: _Execution, place: list[int] | None
) -> None:
    assert execution._faulty({"name": "SyntaxError", "message": "no"}, place, ()) is None


def test_imports_that_the_cell_waits_for_are_remembered(execution: _Execution) -> None:
    drained = execution._drained(json.dumps({**_IDLE, "importing": 1, "completion": None}))
    assert (drained["idle"], execution._importing) == (True, True)
    execution._drained(json.dumps({**_IDLE, "completion": None}))
    assert not execution._importing


def test_damaged_answers_of_the_kernel_are_refused(execution: _Execution) -> None:
    with pytest.raises(EngineFailure, match="memory is damaged"):
        execution._drained("{}")


def test_a_completion_is_a_value_or_an_error(execution: _Execution) -> None:
    assert execution._completion(None) is None
    value = execution._completion(_VALUE)
    assert value is not None
    assert (value.text, value.error) == ("2", None)
    data = {"error": {"name": "E", "message": "m", "stack": ""}, "place": [1, 2]}
    failed = execution._completion(data)
    assert failed is not None
    assert failed.error == GuestError("E", "m at [1, 2]")
