"""The values of stores check what they are made of."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_workflows.stores.store import Message, WorkflowRecord, WorkflowStore


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


def test_a_store_defines_everything_but_how_it_closes() -> None:
    assert len(WorkflowStore.__abstractmethods__) == 12
    assert "aclose" not in WorkflowStore.__abstractmethods__
