"""Tests of interpstack_monty.running.emitted: what a cell emits, and its bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interpstack import BridgeSet, Limits, Notification, Progress, Request
from interpstack_monty.running import emitted as module
from interpstack_monty.running.emitted import Emitted

Offer = Callable[..., BridgeSet]
FUTURE = {"future": ...}


def _requests(emitted: Emitted) -> list[Request]:
    return list(emitted.drained(Progress()).requests)


def test_a_call_that_is_awaited_becomes_a_request(offer: Offer) -> None:
    emitted = Emitted(Limits(), offer("kit.echo"))
    assert emitted.emit(7, ["kit.echo", {"a": 1}]) == FUTURE
    assert emitted.emit(9, ["kit.echo", None]) == FUTURE
    assert _requests(emitted) == [Request(1, "kit.echo", {"a": 1}), Request(2, "kit.echo", None)]
    assert emitted.open == {1: 7, 2: 9}
    assert _requests(emitted) == []


def test_a_call_that_nobody_awaits_is_answered_at_once(offer: Offer) -> None:
    emitted = Emitted(Limits(), offer("kit.note", awaited=False))
    assert emitted.emit(7, ["kit.note", "x"]) == {"return_value": None}
    drained = emitted.drained(Progress())
    assert (list(drained.notifications), list(drained.requests)) == (
        [Notification("kit.note", "x")],
        [],
    )
    assert emitted.open == {}


@pytest.mark.parametrize("args", [[], ["kit.echo"], ["kit.echo", 1, 2], [5, 1], [None, None]])
def test_calls_of_another_form_are_refused(offer: Offer, args: list[Any]) -> None:
    emitted = Emitted(Limits(), offer("kit.echo"))
    assert emitted.emit(1, args) == {"exc_type": "TypeError", "message": "no such bridge"}
    assert _requests(emitted) == []


def test_bridges_that_are_not_on_offer_are_refused(offer: Offer) -> None:
    emitted = Emitted(Limits(), offer("kit.own", hidden=True))
    for name in ("kit.own", "kit.gone", "x" * 500):
        refused = emitted.emit(1, [name, None])
        assert refused["exc_type"] == "RuntimeError"
        assert (
            refused["message"] == f"ToolError: {name[:100]} is not offered in this session any more"
        )
    assert _requests(emitted) == []


def test_inputs_are_bounded(offer: Offer) -> None:
    emitted = Emitted(Limits(value_bytes=1024), offer("kit.echo"))
    assert emitted.emit(1, ["kit.echo", "x" * 1000]) == FUTURE
    large = emitted.emit(2, ["kit.echo", "\x01" * 1000])  # six bytes each, as JSON
    assert large == {
        "exc_type": "ValueError",
        "message": "the input of kit.echo is larger than 1024 bytes",
    }
    for value in ("x" * 2000, object()):
        refused = emitted.emit(3, ["kit.echo", value])
        assert refused["exc_type"] == "TypeError"
        assert refused["message"].startswith("kit.echo cannot take this input: ")


def test_the_queue_is_bounded_until_the_host_fetches_it(
    offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_QUEUE_BYTES", 2000)
    emitted = Emitted(Limits(value_bytes=1024, requests=None), offer("kit.echo"))
    full = {"exc_type": "RuntimeError", "message": "too much is queued; await some calls first"}
    assert [emitted.emit(at, ["kit.echo", "x" * 1000]) for at in range(4)] == [FUTURE] * 3 + [full]
    assert len(_requests(emitted)) == 3
    assert emitted.emit(5, ["kit.echo", "x"]) == FUTURE


def test_calls_far_beyond_the_budget_end_here(offer: Offer) -> None:
    emitted = Emitted(Limits(requests=2), offer("kit.echo"))
    answers = [emitted.emit(at, ["kit.echo", at]) for at in range(2 + 64 + 1)]
    assert answers[:-1] == [FUTURE] * 66  # the driver says so first
    assert answers[-1]["message"] == (
        "CallBudgetExceeded: the cell may make 2 calls; this was one more"
    )
    free = Emitted(Limits(requests=1), offer("kit.echo", counted=False))
    assert [free.emit(at, ["kit.echo", at]) for at in range(70)] == [FUTURE] * 70


@pytest.mark.parametrize(
    ("args", "milliseconds"),
    [([1.5], 1500), ([0], 0), ([-1], 0), ([1e300], 1e12), ([], 0), (["soon"], 0), ([None], 0)],
)
def test_a_wish_to_wait_is_a_timer(offer: Offer, args: list[Any], milliseconds: float) -> None:
    emitted = Emitted(Limits(), offer())
    assert emitted.sleep(7, args) == (FUTURE, 1)
    assert _requests(emitted) == [Request(1, "timer", milliseconds)]


def test_timers_that_are_open_are_bounded(offer: Offer) -> None:
    emitted = Emitted(Limits(timers=2), offer())
    assert [emitted.sleep(at, [1])[1] for at in range(3)] == [1, 2, None]
    refused, _ = emitted.sleep(9, [1])
    assert refused["message"] == "at most 2 timers may be open at once"
    emitted.open.pop(1)  # answered
    assert emitted.sleep(9, [1]) == (FUTURE, 3)


def test_output_is_bounded_and_comes_with_the_end(offer: Offer) -> None:
    emitted = Emitted(Limits(console_chars=10), offer())
    for text in ("hello", "\n", "world", "!"):
        emitted.print("stdout", text)
    assert list(emitted.drained(Progress()).notifications) == []
    (notification,) = emitted.drained(Progress(), ended=True).notifications
    assert notification == Notification("console", {"text": "hello\nworl", "omitted": 2})
    assert list(emitted.drained(Progress(), ended=True).notifications) == []


def test_who_listens_hears_what_was_kept(offer: Offer) -> None:
    heard: list[str] = []
    emitted = Emitted(Limits(console_chars=6), offer())
    emitted.print("stdout", "ab")
    emitted.listen(heard.append)
    emitted.print("stderr", "cd")
    emitted.print("stdout", "efgh")
    emitted.print("stdout", "never")
    assert heard == ["ab", "cd", "ef"]


@pytest.mark.parametrize(
    ("printed", "text"), [("", "note"), ("open", "open\nnote"), ("whole\n", "whole\nnote")]
)
def test_a_note_has_a_line_of_its_own(offer: Offer, printed: str, text: str) -> None:
    emitted = Emitted(Limits(), offer())
    emitted.print("stdout", printed)
    emitted.note("note")
    (notification,) = emitted.drained(Progress(), ended=True).notifications
    assert notification.wire == {"text": text, "omitted": 0}


def test_a_cell_goes_on_elsewhere_where_it_stood(offer: Offer) -> None:
    limits = Limits(console_chars=6, requests=1, timers=1)
    emitted = Emitted(limits, offer("kit.echo"))
    for at in range(65):
        emitted.emit(at, ["kit.echo", at])
    emitted.sleep(70, [1])
    emitted.print("stdout", "abcd")
    emitted.drained(Progress())
    again = Emitted(limits, offer("kit.echo"))
    again.restore(emitted.to_data())
    assert again.to_data() == emitted.to_data()
    assert "CallBudgetExceeded" in again.emit(71, ["kit.echo", 1])["message"]
    assert again.sleep(72, [1])[1] is None
    again.print("stdout", "efgh")
    (notification,) = again.drained(Progress(), ended=True).notifications
    assert notification.wire == {"text": "abcdef", "omitted": 2}
