"""Records of cells in the state of a graph, which is data to check."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from interpstack_langchain.background.cell_records import (
    CELLS,
    CellRecord,
    ended_record,
    explain_expired,
    running_ids,
)

RECORD = CellRecord(
    id="a1", code="1", graph="", checkpoint="c", name="call", place="m", turn="t", chars=3
)


def state(**records: Any) -> dict[str, Any]:
    return {CELLS: records}


def test_a_record_comes_back_as_it_was() -> None:
    assert CellRecord.of(state(a1=RECORD.as_data()), "a1") == RECORD
    images = attrs.evolve(RECORD, attached=2)
    assert CellRecord.of(state(a1=images.as_data()), "a1") == images
    assert "attached" not in RECORD.as_data()
    assert running_ids(state(a1=RECORD.as_data(), b2=ended_record("done"))) == ["a1"]
    assert running_ids(state(a1=RECORD.as_data()), "another turn") == []


@pytest.mark.parametrize(
    "stored",
    [
        None,
        "text",
        {},
        {**RECORD.as_data(), "more": 1},
        {**RECORD.as_data(), "code": None},
        {**RECORD.as_data(), "chars": "3"},
        {**RECORD.as_data(), "attached": "3"},
        {**RECORD.as_data(), "id": "b2"},
        ended_record("it has ended"),
    ],
)
def test_anything_else_is_no_running_cell(stored: Any) -> None:
    assert CellRecord.of(state(a1=stored), "a1") is None


@pytest.mark.parametrize("records", [None, [], "x"])
def test_a_state_without_records(records: Any) -> None:
    assert CellRecord.of({CELLS: records}, "a1") is None
    assert (
        explain_expired({CELLS: records}, "a1", []) == "there is no such cell; no cell is running"
    )


def test_an_expired_cell_is_explained_with_the_running_ones() -> None:
    known = state(a1=RECORD.as_data(), b2=ended_record("it was terminated"))
    assert explain_expired(known, "b2", running_ids(known)) == "it was terminated; running: a1"
    assert (
        explain_expired(known, "b2", running_ids(known, "another turn"))
        == "it was terminated; no cell is running"
    )
    why = explain_expired(known, "a1", running_ids(known, "another turn"))
    assert why == "it ended with an earlier turn; no cell is running"
