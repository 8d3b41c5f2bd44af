"""The cells that messages suspended just now."""

from __future__ import annotations

import pytest

from interpstack_langchain.background import background
from interpstack_langchain.background.background import Background
from interpstack_langchain.background.cell_records import CELLS, CellRecord

RECORD = CellRecord(id="a1", code="1", graph="", checkpoint="c", name="call", place="m", turn="t")


def test_recent_cells_are_known_by_their_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MAX_RECENT", 2)
    made = Background(1.0, "wait", "terminate")
    for number in range(3):
        made.began("owner", f"message {number}", f"cell {number}")
    assert made.recent("owner", "message 0") is None
    assert made.recent("owner", "message 2") == "cell 2"
    assert made.recent("another", "message 2") is None
    made.ended("owner", "message 2")
    made.ended("owner", "message 2")
    assert made.recent("owner", "message 2") is None


def test_calls_of_the_two_tools_name_a_cell() -> None:
    made, state = Background(1.0, "wait", "terminate"), {CELLS: {"a1": RECORD.as_data()}}
    for name in ("wait", "terminate"):
        assert made.record({"name": name, "args": {"id": "a1"}}, state) == RECORD
        assert made.record({"name": name, "args": {}}, state) is None
        assert made.record({"name": name, "args": {"id": ["a1"]}}, state) is None
    assert made.record({"name": "eval", "args": {"id": "a1"}}, state) is None
