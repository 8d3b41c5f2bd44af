"""What a worker sends is read only if it has the right shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import (
    Bridge,
    BridgeSet,
    Completion,
    GuestError,
    GuestSource,
    Notification,
    Place,
    Progress,
    Request,
    Settlement,
)
from interpstack.values import to_json
from interpstack_workers import MalformedMessage, messages
from interpstack_workers.saved_state import read_saved_state

FAULTY = GuestError("SyntaxError", "wrong", place=Place(2, 5, "a = ", "= b"))
ERROR = GuestError("TypeError", "wrong", "at cell", {"tool": "x", "n": [1]})


def crossed(value: Any) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "progress",
    [
        Progress(),
        Progress(
            notifications=[Notification("console", {"text": "\ud800", "omitted": 0})],
            requests=[Request(4, "kit.echo", {"a": [None]}), Request(9, "timer", 5)],
            cancelled=[3],
            cpu_seconds=0.5,
        ),
        Progress(completion=Completion(text="42", omitted_chars=3, omitted_exact=False)),
        Progress(completion=Completion(error=ERROR), exhausted=True, failure=ERROR),
        Progress(completion=Completion(error=FAULTY)),
        Progress(notices=("variables are lost", "twice")),
    ],
)
def test_a_progress_crosses(progress: Progress) -> None:
    found = crossed(to_json(progress))
    read = messages.read_progress(found, 3, 1.0)
    assert to_json(read) == to_json(progress)
    assert read.completion == progress.completion


def test_settlements_and_bridges_cross() -> None:
    settlements = [Settlement(1, '{"$":"undefined"}'), Settlement(2, error=ERROR)]
    settlements.append(Settlement(3, '"a.js"', modules={"a.js": "1"}))
    packed = crossed(messages.pack_settlements(settlements))
    assert messages.read_settlements(packed) == settlements
    bridge = Bridge(name="a.b", handler=print, raw=True, awaited=False, hidden=True)
    source = GuestSource("javascript", "name", "text", "owner")
    read = messages.read_bridges(
        crossed(
            messages.pack_bridges(BridgeSet({"a.b": bridge}, (source,), {"ModuleNotFound": "Gone"}))
        )
    )
    assert read.sources == (source,)
    assert read.error_name("ModuleNotFound") == "Gone"
    assert [(b.name, b.awaited, b.hidden) for b in read] == [("a.b", False, True)]


def test_a_worker_cannot_claim_more_time_than_passed_nor_less_than_none() -> None:
    packed = to_json(Progress(cpu_seconds=9.0))
    assert messages.read_progress(packed, 0, 0.25).cpu_seconds == 0.25
    packed["cpu_seconds"] = -5
    assert messages.read_progress(packed, 0, 0.25).cpu_seconds == 0.0


EMPTY = to_json(Progress())
DONE = to_json(Progress(completion=Completion()))["completion"]
DEEP: Any = {}
for _ in range(700):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    "found",
    [
        None,
        [],
        "text",
        {},
        *({**EMPTY, key: value} for key in EMPTY for value in (7.5j, [7.5], {"a": 1})),
        *({**EMPTY, key: "text"} for key in EMPTY if key != "loss"),
        {**EMPTY, "loss": "x" * 4001},
        {**EMPTY, "cancelled": ["7"]},
        {**EMPTY, "notices": ["x" * 4001]},
        {**EMPTY, "requests": [[1, "a", None, False], [1, "a", None, False]]},
        {**EMPTY, "requests": [[0, "a", None, False]]},
        {**EMPTY, "requests": [[True, "a", None, False]]},
        {**EMPTY, "requests": [[1.0, "a", None, False]]},
        {**EMPTY, "requests": [[1, "a" * 1001, None, False]]},
        {**EMPTY, "requests": [[1, "a"]]},
        {**EMPTY, "calls": [["a", None, None]]},
        {**EMPTY, "calls": [[["a"], None]]},
        *({**EMPTY, "completion": {**DONE, key: [7]}} for key in DONE),
        {**EMPTY, "failure": ["a", "b", "c"]},
        {**EMPTY, "failure": ["a", "b", "c", [], None]},
        {**EMPTY, "failure": ["a", "b", "c", DEEP, None]},
        *(
            {**EMPTY, "failure": ["a", "b", "c", {}, place]}
            for place in (
                7,
                [1, 2, "a"],
                [1.5, 2, "a", "b"],
                [1, 2, "a", ["b"]],
                [1, 2, "a" * 1001, ""],
            )
        ),
    ],
)
def test_a_progress_of_another_shape_is_malformed(found: Any) -> None:
    with pytest.raises(MalformedMessage):
        messages.read_progress(found, 0, 1.0)


def test_the_texts_of_an_error_are_cut() -> None:
    error = ["E" * 1001, "m" * 100_000, "s" * 100_000, {}, None]
    progress = messages.read_progress({**EMPTY, "completion": {**DONE, "error": error}}, 0, 1.0)
    assert progress.completion is not None
    assert progress.completion.error is not None
    assert progress.completion.error.name == "E" * 1000
    failed = messages.read_progress({**EMPTY, "failure": error}, 0, 1.0)
    assert failed.failure is not None
    assert failed.failure == GuestError("E" * 1000, "m" * 65_536, "s" * 65_536)


@pytest.mark.parametrize(
    "found",
    [
        7,
        {},
        {"image": ["a", "b"], "values": {}},
        {"image": ["a"]},
        {"image": ["a", 1]},
        {"values": []},
        {"values": {"a": DEEP}},
        {"lost": None},
        {"other": 1},
    ],
)
def test_a_state_of_another_shape_is_malformed(found: Any) -> None:
    with pytest.raises(MalformedMessage):
        read_saved_state(found, b"")


def test_names_of_another_shape_are_malformed() -> None:
    for found in (None, {"a": 1}, [1], ["a", None]):
        with pytest.raises(MalformedMessage):
            messages.read_names(found)
