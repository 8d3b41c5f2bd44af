"""The kernel's answers are data of a guest: each part is checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_javascript.drained import read_drained

SOUND: dict[str, Any] = {
    "calls": [["console.log", 1]],
    "requests": [[1, "kit.f", {}], [2, "kit.f", {}, True]],
    "cancelled": [3],
    "rejected": ["Error: lost"],
    "importing": 0,
    "idle": True,
    "completion": None,
}
RESULT = {"text": "1", "omitted": 0, "exact": True, "handle": False, "undefined": False}
ERROR = {"name": "E", "message": "m", "stack": ""}


@pytest.mark.parametrize(
    "completion", [None, RESULT, {"error": ERROR}, {"error": ERROR, "place": [1, 2]}]
)
def test_what_the_kernel_answers_is_read(completion: Any) -> None:
    data = {**SOUND, "completion": completion}
    assert read_drained(json.dumps(data)) == data


@pytest.mark.parametrize(
    "changes",
    [
        {"calls": None},
        {"calls": [["console.log"]]},
        {"requests": [[0, "kit.f", {}]]},
        {"requests": [[True, "kit.f", {}]]},
        {"requests": [[2**53, "kit.f", {}]]},
        {"requests": [[1, "kit.f", {}, 1]]},
        {"cancelled": [1.0]},
        {"rejected": [5]},
        {"rejected": ["x" * 100_000]},
        {"importing": True},
        {"idle": 1},
        {"completion": {**RESULT, "text": 5}},
        {"completion": {"error": {"name": "E"}}},
        {"completion": 5},
        {"completion": {"error": ERROR, "place": [1, None]}},
        {"completion": {"error": ERROR, "place": [1, 2.0]}},
        {"completion": {"error": ERROR, "place": [float("nan"), 1]}},
        {"completion": {"error": ERROR, "place": [1]}},
    ],
    ids=str,
)
def test_what_it_does_not_answer_is_a_damaged_guest(changes: dict[str, Any]) -> None:
    with pytest.raises(EngineFailure, match="the guest's memory is damaged"):
        read_drained(json.dumps({**SOUND, **changes}))


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, 5])
def test_what_is_no_object_is_a_damaged_guest(text: Any) -> None:
    with pytest.raises(EngineFailure, match="the guest's memory is damaged"):
        read_drained(text)
