"""What a worker sends is read only if it has the right shape."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from interpstack import (
    Bridge,
    BridgeSet,
    Call,
    Completion,
    GuestError,
    GuestSource,
    Place,
    Progress,
    Request,
    Settlement,
)
from interpstack_process import messages
from interpstack_process.frames import Malformed
from interpstack_process.kept import read_kept

FAULTY = GuestError("SyntaxError", "wrong", place=Place(2, 5, "a = ", "= b"))
ERROR = GuestError("TypeError", "wrong", "at cell", {"tool": "x", "n": [1]})


def crossed(value: Any) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "progress",
    [
        Progress(),
        Progress(
            calls=[Call("console", {"text": "\ud800", "omitted": 0})],
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
    told = crossed(messages.pack_progress(progress))
    lists = {name: list(getattr(progress, name)) for name in ("calls", "requests", "cancelled")}
    assert messages.read_progress(told, 3, 1.0) == attrs.evolve(progress, **lists)


def test_settlements_and_bridges_cross() -> None:
    settlements = [Settlement(1, '{"$":"undefined"}'), Settlement(2, error=ERROR)]
    settlements.append(Settlement(3, '"a.js"', modules={"a.js": "1"}))
    packed = crossed(messages.pack_settlements(settlements))
    assert messages.read_settlements(packed) == settlements
    bridge = Bridge(name="a.b", handler=print, raw=True, awaited=False, hidden=True)
    source = GuestSource("javascript", "name", "text", "owner")
    read = messages.read_bridges(
        crossed(messages.pack_bridges(BridgeSet({"a.b": bridge}, (source,))))
    )
    assert read.sources == (source,)
    assert [(b.name, b.awaited, b.hidden) for b in read] == [("a.b", False, True)]


def test_a_worker_cannot_claim_more_time_than_passed_nor_less_than_none() -> None:
    packed = messages.pack_progress(Progress(cpu_seconds=9.0))
    assert messages.read_progress(packed, 0, 0.25).cpu_seconds == 0.25
    packed["cpu"] = -5
    assert messages.read_progress(packed, 0, 0.25).cpu_seconds == 0.0


def test_whether_a_tree_has_tags_is_not_taken_on_trust() -> None:
    told = messages.pack_progress(Progress(requests=[Request(1, "a", {"$": "x"}, plain=True)]))
    assert not messages.read_progress(told, 0, 1.0).requests[0].plain


EMPTY = messages.pack_progress(Progress())
DONE = messages.pack_progress(Progress(completion=Completion()))["completion"]
DEEP: Any = {}
for _ in range(700):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        "text",
        {},
        *({**EMPTY, key: value} for key in EMPTY for value in ("text", 7.5j, [7.5], {"a": 1})),
        {**EMPTY, "cancelled": ["7"]},
        {**EMPTY, "notices": ["x" * 4001]},
        {**EMPTY, "requests": [[1, "a", None], [1, "a", None]]},
        {**EMPTY, "requests": [[0, "a", None]]},
        {**EMPTY, "requests": [[True, "a", None]]},
        {**EMPTY, "requests": [[1.0, "a", None]]},
        {**EMPTY, "requests": [[1, "a" * 1001, None]]},
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
def test_a_progress_of_another_shape_is_malformed(told: Any) -> None:
    with pytest.raises(Malformed):
        messages.read_progress(told, 0, 1.0)


@pytest.mark.parametrize(
    "told",
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
def test_a_state_of_another_shape_is_malformed(told: Any) -> None:
    with pytest.raises(Malformed):
        read_kept(told, b"")


def test_names_of_another_shape_are_malformed() -> None:
    for told in (None, {"a": 1}, [1], ["a", None]):
        with pytest.raises(Malformed):
            messages.read_names(told)
