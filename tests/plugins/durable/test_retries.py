"""Journals of cells that an exception of a handler has left."""

from __future__ import annotations

from typing import Any

from interpstack import GuestError
from interpstack_durable.retries import effective, retry_entry

ERROR = GuestError("ToolError", "no")
OK, NO = [1, "1", None, {}], [2, "null", ["ToolError", "no", "", {}], {}]


def step(*settled: Any, asked: Any = (), **fields: Any) -> dict[str, Any]:
    return {"asked": list(asked), "now": 1.0, "settled": list(settled), **fields}


def asks(*ids: int, bridge: str = "tools.x") -> list[Any]:
    return [[number, bridge, "digest", "text"] for number in ids]


def test_a_retry_keeps_what_succeeded() -> None:
    head = {"version": 2, "cell": "c", "began": 1.0}
    entries = [head, step(NO, OK, asked=asks(1, 2), drawn={"requests": 2}, commands=[[1, "x"]])]
    entries[1]["computed"] = [1.0, 2.0]
    entry = retry_entry(entries, ERROR)
    assert entry is not None
    valid = effective([*entries, entry])
    assert valid[0] == head
    assert valid[1] == {"commands": [[1, "x"]]}
    assert valid[2] == {
        "kept": {"asked": [], "settled": [OK], "pausing": False},
        "drawn": {"requests": 2},
    }


def test_a_retry_begins_with_the_first_failure_after_the_last_call() -> None:
    later = [3, "null", ["ToolError", "no", "", {}], {}]
    entries = [step(asked=asks(1)), step(NO, asked=asks(2, 3)), step(OK), step(later)]
    entry = retry_entry(entries, ERROR)
    assert entry is not None
    assert entry["retry"]["from"] == 1
    assert entry["retry"]["kept"]["settled"] == [OK]


def test_no_retry_repeats_a_call_that_followed_the_failure() -> None:
    entries = [step(NO, asked=asks(2)), step(OK, asked=asks(1))]
    assert retry_entry(entries, ERROR) is None
    timers = [step(NO, asked=asks(2)), step(OK, asked=asks(1, bridge="timer"))]
    assert retry_entry(timers, ERROR) is not None
    assert retry_entry([], ERROR) is None


def test_entries_without_a_retry_are_as_they_are() -> None:
    entries = [step(OK, asked=asks(1)), {"notes": {"a": 1}}]
    assert effective(entries) == entries
