"""The stored form of a cell in the middle of its run."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from interpstack import Image, Request
from interpstack_durable.forms import VERSION
from interpstack_durable.journal import Suspension
from interpstack_durable.suspensions import read_suspension, suspension_text

SUSPENSION = Suspension(
    image=Image("e", "b", b"\0\1\2"),
    steps=1,
    asked=(Request(1, "a", None),),
    open=(Request(2, "b", {"n": 1}, True),),
    made={"a": 1},
    console=(("out", 2),),
    cpu_seconds=0.5,
)
TOLD: dict[str, Any] = {
    "version": VERSION,
    "image": ["e", "b", "AAEC"],
    "steps": 1,
    "asked": [[1, "a", None, False]],
    "open": [[2, "b", {"n": 1}, True]],
    "made": {"a": 1},
    "before": 0,
    "console": [["out", 2]],
    "cpu_seconds": 0.5,
}


def test_the_form_is_the_one_that_is_stored() -> None:
    assert suspension_text(SUSPENSION) == json.dumps(TOLD, separators=(",", ":"))
    assert read_suspension(suspension_text(SUSPENSION)) == SUSPENSION


@pytest.mark.parametrize(
    "told",
    [
        "",
        "7",
        "[" * 100_000,
        {**TOLD, "version": 1},
        {**TOLD, "before": 3},
        {**TOLD, "more": 1},
        {key: value for key, value in TOLD.items() if key != "before"},
        {**TOLD, "image": ["e", "b", "?"]},
        {**TOLD, "made": {"a": "1"}},
        {**TOLD, "console": [["out"]]},
        {**TOLD, "open": [[2, "b", {"n": 1}]]},
    ],
)
def test_what_is_damaged_or_of_another_release_is_not_read(told: Any) -> None:
    assert read_suspension(told if isinstance(told, str) else json.dumps(told)) is None


def test_numbers_may_be_whole() -> None:
    whole = read_suspension(json.dumps({**TOLD, "cpu_seconds": 2}))
    assert whole == attrs.evolve(SUSPENSION, cpu_seconds=2.0)
