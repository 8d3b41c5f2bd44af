"""Records of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.module.metadata import WorkflowMetadata
from interpstack_workflows.runs.run_records import (
    RunOptions,
    as_result,
    new_run,
    new_run_id,
    root_place,
    with_script,
)
from interpstack_workflows.runs.values import Script
from interpstack_workflows.stores.records import WorkflowRecord

_METADATA = WorkflowMetadata(
    name="n", description="d", raw={"name": "n", "phases": [{"title": "A", "model": "m"}]}
)


_SCRIPT = Script("s")


def _new(script: Script = _SCRIPT, **options: Any) -> WorkflowRecord:
    return new_run(script, _METADATA, [1], RunOptions(**options), 1000.0)


def test_ids_are_in_the_order_of_their_times() -> None:
    ids = [new_run_id(time) for time in (1.0, 2.0, 1.7e9, 1.7e9 + 0.001)]
    assert ids == sorted(ids)
    assert all(len(one) == 30 and one == one.lower() for one in ids)
    assert new_run_id(1.0) != new_run_id(1.0)


def test_a_new_run_has_what_it_needs_to_go_on_elsewhere() -> None:
    record = _new(Script("s", "a.ts", Path("/x/a.ts")), wall_seconds=5, budget=9, seed=3)
    assert record.id.startswith("run_")
    assert (record.status, record.name, record.args, record.seed) == ("running", "n", [1], 3)
    assert record.budget == {"tokens": 9}
    assert record.options == {"path": "/x/a.ts", "deadline": 1005.0}
    place = root_place(record)
    assert place.script == Script("s", "a.ts", Path("/x/a.ts"), "n")
    assert place.phases == {"A": {"model": "m"}}
    assert _new().seed != _new().seed


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "1", True])
def test_wrong_times_are_refused(seconds: Any) -> None:
    with pytest.raises(WorkflowError, match="wall_seconds takes a number above 0"):
        _new(wall_seconds=seconds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": "x"}, "seed takes a whole number, or None; got 'x'"),
        ({"seed": 1.5}, "seed takes a whole number"),
        ({"budgets": 3}, "budgets takes limits by the names of phases and children; got 3"),
    ],
)
def test_other_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkflowError, match=message):
        _new(**options)


@pytest.mark.parametrize("run_id", ["", "a b", "a/b", "é", "a\n", "a" * 201, 7])
def test_ids_can_stand_in_command_lines(run_id: Any) -> None:
    with pytest.raises(ConfigurationError, match="1 to 200 letters, digits"):
        _new(run_id=run_id)
    assert _new(run_id="Mine-1_x.y").id == "Mine-1_x.y"


def test_wrong_budgets_are_refused() -> None:
    with pytest.raises(WorkflowError, match="no limit coins; it takes: tokens, cost, seconds"):
        _new(budget={"coins": 1})
    with pytest.raises(ConfigurationError, match="tokens takes a whole number"):
        _new(budget="many")


def test_a_run_goes_on_with_another_script() -> None:
    record = _new(Script("s", "a.js", Path("/x/a.js")))
    changed = with_script(record, Script("t"), _METADATA)
    assert (changed.source, changed.options["path"]) == ("t", "/x/a.js")
    assert (
        with_script(record, Script("t", "b.js", Path("/y/b.js")), _METADATA).options["path"]
        == "/y/b.js"
    )


def test_a_result_says_how_the_run_stands() -> None:
    record = WorkflowRecord(
        id="run_a", status="waiting", waiting_for=({"id": "q"},), usage={"agents": 1}
    )
    result = as_result(record)
    assert (result.run_id, result.status, result.usage) == ("run_a", "waiting", {"agents": 1})
    assert result.waiting_for == ({"id": "q"},)
