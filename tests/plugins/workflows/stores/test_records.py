"""The stored form of runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_workflows.api import Message, WorkflowError, WorkflowRecord
from interpstack_workflows.stores.records import damaged_run, run_from_json, run_to_json

RUN = WorkflowRecord(
    id="run_1",
    name="n",
    source="s",
    args={"a": [1, None]},
    metadata={"name": "n", "phases": [{"title": "One"}]},
    seed=2**80,
    created=3.5,
    status="waiting",
    budget={"tokens": 5, "inner": {"One": {"agents": 2}}},
    options={"path": "/a.js", "deadline": 1e300, "messages_read": 2},
    error={"name": "E", "message": "m", "stack": "s"},
    wake_at=9,
    waiting_for=({"kind": "ask", "id": "root/a", "options": {}, "wake_at": None},),
    usage={"agents": 1, "cost": 0.5},
    census={"ok": {"agent": 1}, "dropped": 0, "errors": [{"name": "E", "message": "m"}]},
)


def test_a_run_is_stored() -> None:
    assert run_from_json(json.loads(json.dumps(run_to_json(RUN))), "run_1") == RUN


def test_fields_that_an_older_release_did_not_store_have_their_usual_values() -> None:
    assert run_from_json({"id": "a", "name": "n"}, "a") == WorkflowRecord(id="a", name="n")


def test_a_field_of_a_newer_release_is_refused() -> None:
    with pytest.raises(WorkflowError, match=r"a field 'soon', which this release does not know"):
        run_from_json({"id": "a", "soon": 1}, "a")


@pytest.mark.parametrize("data", [None, [], "x", 1, {}, {"id": "b"}, {"id": 1}])
def test_other_data_are_refused(data: Any) -> None:
    with pytest.raises(WorkflowError, match="the record of the run 'a' is damaged"):
        run_from_json(data, "a")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("name", [1, None]),
        ("source", [1, None]),
        ("source_name", [1]),
        ("metadata", [[], {"phases": 7}]),
        ("seed", [1.5, True, "1"]),
        ("created", ["1", -1, 1e300, float("nan"), True]),
        ("status", ["future", 1, [], None]),
        ("budget", [[], {"token": 1}, {"tokens": "x"}, {"inner": []}, {"inner": {"a": 1}}]),
        ("options", [[], {"path": 1}, {"deadline": "x"}, {"messages_read": -1}]),
        ("error", [[], "x", {"name": 1}]),
        ("wake_at", ["x", 1e20]),
        ("waiting_for", [{}, [1], [{}], [{"kind": "ask", "id": 1}], [{"kind": "a", "options": 1}]]),
        ("usage", [[], {"tokens": 1}, {"agents": "1"}, {"cost": -1}]),
        ("census", [[], {"dropped": "x"}, {"errors": [1]}]),
        ("updated", [None]),
        ("version", [None, 1.0]),
    ],
)
def test_a_field_of_another_form_is_refused(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(WorkflowError, match=f"is damaged: its {name} is malformed"):
            run_from_json({**run_to_json(RUN), name: value}, "run_1")


def test_the_error_says_what_to_do() -> None:
    assert str(damaged_run("a", "it is gone")) == (
        "the record of the run 'a' is damaged: it is gone; restore the store from a copy, or "
        "delete the run"
    )


@pytest.mark.parametrize("run_id", ["", "a/b", "a b", "é", "x" * 201, 5, None, "..", "a\n"])
def test_ids_are_plain(run_id: Any) -> None:
    with pytest.raises(ConfigurationError, match="letters, digits"):
        WorkflowRecord(id=run_id)
    assert WorkflowRecord(id="run_01h-x.2").id == "run_01h-x.2"


def test_statuses_and_kinds_are_named() -> None:
    with pytest.raises(ConfigurationError, match="a status of pending, running"):
        WorkflowRecord(id="a", status="done")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="a kind of signal, answer"):
        Message(kind="mail")  # type: ignore[arg-type]


@pytest.mark.parametrize(("status", "ended"), [("waiting", False), ("cancelled", True)])
def test_runs_end(status: Any, ended: bool) -> None:
    assert WorkflowRecord(id="a", status=status).has_ended is ended
