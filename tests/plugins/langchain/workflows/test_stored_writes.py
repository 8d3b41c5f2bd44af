"""Leases, messages and entries, read from the writes to a checkpoint."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from langgraph.checkpoint.base import CheckpointTuple
from workflow_stores import entry

from interpstack_langchain.workflows.stored_writes import (
    claims,
    is_held,
    lease_of,
    messages_of,
    sent_messages,
    stored_entries,
)
from interpstack_workflows.api import Lease, Message, WorkflowError, entry_to_json


def _found(**writes: Any) -> CheckpointTuple:
    """A checkpoint with writes by the names of their tasks; lists have several."""
    pending = [
        (
            task.replace("_", "-"),
            "workflow",
            one if isinstance(one, str | bytes) else json.dumps(one),
        )
        for task, given in writes.items()
        for one in (given if isinstance(given, list) else [given])
    ]
    return CheckpointTuple(config={}, checkpoint={}, metadata={}, pending_writes=pending)  # type: ignore[typeddict-item]


def test_the_last_claim_is_the_lease_until_its_end() -> None:
    one = {"owner": "a", "until": 5.0, "by": "x"}
    two = {"owner": "b", "until": 7.0, "by": "y"}
    assert lease_of("run", _found()) is None
    assert lease_of("run", _found(claim_01=one, claim_02=two)) == Lease("run", "b", 2, 7.0)
    prolonged = _found(claim_01=one, until_01={"until": 9.0})
    assert lease_of("run", prolonged) == Lease("run", "a", 1, 9.0)
    assert dict(claims("run", prolonged)) == {1: one}


def test_a_lease_is_held_until_it_is_given_back() -> None:
    held = Lease("run", "a", 2, 7.0)
    assert is_held(held, attrs.evolve(held, until=3.0))
    assert not is_held(held, attrs.evolve(held, token=1))
    assert not is_held(held, attrs.evolve(held, owner="b"))
    assert not is_held(attrs.evolve(held, until=0.0), held)


def test_messages_come_in_the_order_of_their_numbers() -> None:
    sent = {name: {"message": attrs.asdict(Message(kind="signal", name=name))} for name in "abc"}
    found = _found(message_03=sent["c"], message_01=sent["a"], message_02=sent["b"])
    assert [number for number, _ in messages_of("run", found)] == [3, 1, 2]
    assert [one.name for _, one in sent_messages("run", found, 0)] == ["a", "b", "c"]
    assert sent_messages("run", found, 2) == [(3, Message(kind="signal", name="c"))]


def test_entries_of_a_lost_lease_end_where_the_next_one_began() -> None:
    texts = [json.dumps(entry_to_json(entry(number))) for number in range(6)]
    names = ["0-1", "1-1", "1-2", "2-2"]
    given = dict(zip(names, [[texts[0]], texts[1:3], [texts[4]], [texts[5]]], strict=True))
    found = _found(**{name.replace("-", "_"): batch for name, batch in given.items()})
    assert [one.now for _, one in stored_entries("run", found)] == [0.0, 4.0, 5.0]


@pytest.mark.parametrize("token", [2, 9])
def test_entries_of_a_lease_that_there_was_not_take_the_place_of_none(token: int) -> None:
    texts = [json.dumps(entry_to_json(entry(number))) for number in range(3)]
    found = _found(**{"0_1": texts[0], "1_1": texts[1], f"0_{token}": texts[2]})
    with pytest.raises(WorkflowError, match="its entry 0 is of a lease that there was not"):
        list(stored_entries("run", found, before=2))
    sound = _found(**{"0_1": texts[0], "1_1": texts[1]})
    assert len(list(stored_entries("run", sound, before=2))) == 2


_CLAIM = {"owner": "a", "until": 5.0, "by": "x"}
_DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "writes",
    [
        {"0_1": "{"},
        {"0_1": "NaN"},
        {"0_1": _DEEP},
        {"0_1": b"{}"},
        {"0": json.dumps(entry_to_json(entry(0)))},
        {"x_1": "{}"},
        {"0_" + "9" * 5000: "{}"},
        {"claim_1": "{}"},
        {"1_1": json.dumps(entry_to_json(entry(1)))},
        {"0_1": json.dumps(entry_to_json(entry(0)) | {"budget": {"spent": "x"}})},
    ],
)
def test_damaged_entries_are_refused(writes: Any) -> None:
    with pytest.raises(WorkflowError, match=r"'run'.* is damaged"):
        list(stored_entries("run", _found(**writes)))


@pytest.mark.parametrize(
    "writes",
    [
        {"claim_1": "{}"},
        {"claim_1": "[]"},
        {"claim_x": _CLAIM},
        {"claim_1": {**_CLAIM, "until": None}},
        {"claim_1": {**_CLAIM, "until": 10**400}},
        {"claim_1": _CLAIM, "until_1": "[]"},
        {"claim_1": _CLAIM, "until_1": {"until": "9"}},
        {"claim_1": _CLAIM, "until_1": "Infinity"},
    ],
)
def test_damaged_claims_are_refused(writes: Any) -> None:
    with pytest.raises(WorkflowError, match="the record of the run 'run' is damaged"):
        lease_of("run", _found(**writes))


@pytest.mark.parametrize(
    "message",
    ["[]", {"message": {}}, {"message": {"kind": "other"}}, {"message": {"kind": "wake", "to": 1}}]
    + [{"message": {"kind": "wake", name: 1}} for name in ("name", "id")],
)
def test_damaged_messages_are_refused(message: Any) -> None:
    with pytest.raises(WorkflowError, match="a message is malformed"):
        sent_messages("run", _found(message_1=message), 0)
