"""Entries, and their stored form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack_workflows.api import WorkflowError
from interpstack_workflows.steps.entries import (
    Entry,
    StepRecord,
    entry_from_json,
    entry_to_json,
)

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
_objects = st.dictionaries(st.text(), _json, max_size=2)
steps = st.builds(
    StepRecord,
    name=st.text(),
    signature=st.text(),
    kind=st.text(),
    ok=st.booleans(),
    value=_json,
    error=st.none() | _objects,
    usage=_objects,
    request_id=st.none() | st.text(),
    started=st.booleans(),
)
entries = st.builds(
    Entry,
    scope=st.text(),
    now=st.floats(0, 1e10),
    settled=st.lists(steps, max_size=3).map(tuple),
    budget=_objects,
)


@given(entries)
def test_entries_are_stored(entry: Entry) -> None:
    assert entry_from_json(json.loads(json.dumps(entry_to_json(entry)))) == entry


def test_the_stored_form() -> None:
    step = StepRecord(name="sig_1", signature="{}", kind="agent", value="v", request_id="1")
    assert entry_to_json(Entry(scope="root", now=5.0, settled=(step,))) == {
        "form": 1,
        "scope": "root",
        "now": 5.0,
        "settled": [{"name": "sig_1", "sig": "{}", "kind": "agent", "value": "v", "request": "1"}],
    }


_GOOD: Any = {"form": 1, "scope": "root", "now": 1, "settled": [{"name": "a"}]}


@pytest.mark.parametrize(
    "change",
    [
        {"form": 2},
        {"form": 0},
        {"form": -1},
        {"form": True},
        {"form": 10**5000},
        {"form": "1"},
        {"more": 1},
        {"now": float("nan")},
        {"now": float("inf")},
        {"now": 10**400},
        {"scope": 1},
        {"now": "1"},
        {"now": True},
        {"settled": {}},
        {"settled": [1]},
        {"settled": [{}]},
        {"settled": [{"name": 1}]},
        {"settled": [{"name": "a", "ok": 1}]},
        {"settled": [{"name": "a", "usage": []}]},
        {"settled": [{"name": "a", "more": 1}]},
        {"budget": [1]},
    ],
)
def test_damaged_entries_are_refused(change: Any) -> None:
    assert entry_from_json(_GOOD).settled == (StepRecord(name="a"),)
    with pytest.raises(WorkflowError, match=r"damaged|cannot be read"):
        entry_from_json({**_GOOD, **change})


@pytest.mark.parametrize("data", [None, [], "x", {}])
def test_other_data_are_refused(data: Any) -> None:
    with pytest.raises(WorkflowError):
        entry_from_json(data)
