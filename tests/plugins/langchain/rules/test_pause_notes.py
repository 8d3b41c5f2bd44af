"""Tests of interpstack_langchain.rules.pause_notes."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Interrupt

from interpstack_durable.api import UnreadableJournal
from interpstack_langchain.rules.pause_notes import read_decision, read_pause

_PAYLOAD = {
    "action_requests": [{"name": "pay", "args": {"to": "Ann"}}],
    "review_configs": [{"action_name": "pay", "allowed_decisions": ["approve"]}],
}
_CHANGED = {"name": "pay", "args": {}}
_QUESTION = {"digest": "d", "by": ["first"], "changed": _CHANGED, "payload": _PAYLOAD}
_PAUSE = {"questions": {"2": _QUESTION}, "others": [Interrupt("?")], "owners": {}, "running": []}
_DECISIONS: list[dict[str, Any]] = [
    {"type": "approve", "digest": "d", "shown": "pay"},
    {"type": "edit", "digest": "d", "shown": "pay", "name": "pay", "args": {}},
    {"type": "reject", "digest": "d", "shown": "pay", "message": None},
    {"type": "respond", "digest": "d", "shown": "pay", "message": "no", "by": ["first"]},
]


def test_what_is_sound_is_returned() -> None:
    assert read_pause(_PAUSE) is _PAUSE
    assert read_pause({"questions": {}, "others": []}) == {"questions": {}, "others": []}
    assert [read_decision(each) for each in _DECISIONS] == _DECISIONS
    assert read_decision(None) is None


def _question(**changes: Any) -> dict[str, Any]:
    return {**_PAUSE, "questions": {"2": {**_QUESTION, **changes}}}


@pytest.mark.parametrize(
    "pause",
    [
        None,
        [],
        {"others": []},
        {"questions": {}},
        {**_PAUSE, "questions": []},
        {**_PAUSE, "questions": {"2": True}},
        {**_PAUSE, "others": [{"value": "?"}]},
        {**_PAUSE, "owners": 5},
        {**_PAUSE, "running": None},
        {**_PAUSE, "running": [1]},
        {**_PAUSE, "running": [{"name": "pay", "input": None}]},
        {**_PAUSE, "questions": {2: _QUESTION}},
        _question(payload={**_PAYLOAD, "review_configs": [{"allowed_decisions": [1]}]}),
        _question(digest=5),
        _question(by="first"),
        _question(changed={"name": "pay"}),
        _question(payload=None),
        _question(payload={"action_requests": [{"name": "pay", "args": {}}]}),
        _question(payload={**_PAYLOAD, "review_configs": []}),
        _question(payload={**_PAYLOAD, "review_configs": [{"allowed_decisions": "approve"}]}),
        _question(payload={**_PAYLOAD, "action_requests": [{"name": "pay"}]}),
        _question(payload={**_PAYLOAD, "action_requests": ["pay"]}),
    ],
)
def test_a_damaged_pause_is_refused(pause: Any) -> None:
    with pytest.raises(UnreadableJournal, match="a pause is malformed"):
        read_pause(pause)


@pytest.mark.parametrize("number", range(len(_DECISIONS)))
def test_a_damaged_decision_is_refused(number: int) -> None:
    sound = _DECISIONS[number]
    needed = [key for key in sound if key != "by"]
    damaged: list[Any] = [{k: v for k, v in sound.items() if k != key} for key in needed]
    damaged += [5, {**sound, "type": "other"}, {**sound, "type": []}, {**sound, "changed": 5}]
    for decision in damaged:
        with pytest.raises(UnreadableJournal, match="a decision is malformed"):
            read_decision(decision)
