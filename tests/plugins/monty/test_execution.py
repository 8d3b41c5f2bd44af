"""Tests of interpstack_monty.execution: one cell, poll by poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interpstack import BridgeSet, Cell, Execution, GuestError, Limits, Realm, Settlement
from interpstack_monty.engine import MontyEngine

Offer = Callable[..., BridgeSet]
Opener = Callable[..., Realm]


@pytest.fixture
def opened(engine: MontyEngine, offer: Offer) -> Opener:
    def open_realm(**limits: Any) -> Realm:
        return engine.open(Limits(**{"cpu_seconds": 30.0, **limits}), offer("kit.echo"))

    return open_realm


def _start(realm: Realm, source: str) -> Execution:
    return realm.start(Cell(source=source, name="cell 1", seed=1))


def test_a_cell_ends_with_its_value_and_its_output(opened: Opener) -> None:
    realm = opened()
    progress = _start(realm, "a = 41\nprint('hi')\na + 1").poll(0.0, None)
    assert progress.completion is not None
    assert (progress.completion.text, progress.completion.error) == ("42", None)
    assert [call.wire for call in progress.notifications] == [{"text": "hi", "omitted": 0}]
    assert list(realm.names()) == ["a"]


def test_a_cell_that_has_ended_does_nothing_more(opened: Opener) -> None:
    execution = _start(opened(), "1")
    execution.poll(0.0, None)
    execution.settle([Settlement(id=1, text="1")])
    again = execution.poll(0.0, None)
    assert (again.completion, again.failure, list(again.requests)) == (None, None, [])
    assert execution.abort("late").failure is None


def test_a_refused_source_takes_no_worker(
    opened: Opener, engine: MontyEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(limits: Limits) -> Any:
        raise AssertionError("a worker was taken")

    monkeypatch.setattr(engine.workers, "take", refuse)
    completion = _start(opened(), "return 1").poll(0.0, None).completion
    assert completion is not None
    assert completion.error is not None
    assert completion.error.name == "SyntaxError"


def test_a_request_waits_and_its_answer_ends_the_cell(opened: Opener) -> None:
    execution = _start(opened(), "b = await kit.echo(5)\nb * 2")
    (request,) = execution.poll(0.0, None).requests
    assert (request.bridge, request.wire) == ("kit.echo", 5)
    assert execution.poll(0.0, None).completion is None
    execution.settle([Settlement(id=request.id, text="21")])
    completion = execution.poll(0.0, None).completion
    assert completion is not None
    assert completion.text == "42"


def test_an_error_of_the_host_can_be_caught_or_keeps_its_name(opened: Opener) -> None:
    execution = _start(opened(), "await kit.echo(5)")
    (request,) = execution.poll(0.0, None).requests
    execution.settle([Settlement(id=request.id, error=GuestError("ToolError", "no such page"))])
    completion = execution.poll(0.0, None).completion
    assert completion is not None
    assert completion.error is not None
    assert (completion.error.name, completion.error.message) == ("ToolError", "no such page")
    assert completion.error.stack == "  at cell 1:1 in <module>"


def test_an_aborted_cell_keeps_what_it_did_if_it_ends_cleanly(opened: Opener) -> None:
    realm = opened()
    execution = _start(realm, "a = 1\ntry:\n    await kit.echo(5)\nfinally:\n    b = 2")
    execution.poll(0.0, None)
    aborted = execution.abort("enough")
    assert (aborted.failure, aborted.state) == (None, "kept")
    assert list(realm.names()) == ["a", "b"]
    execution.undo()
    assert list(realm.names()) == []


def test_an_aborted_cell_that_goes_on_is_undone(opened: Opener) -> None:
    realm = opened()
    source = "a = 1\nwhile True:\n  try:\n    await kit.echo(5)\n  except BaseException:\n    pass"
    execution = _start(realm, source)
    execution.poll(0.0, None)
    aborted = execution.abort("enough")
    assert aborted.state == "undone"
    assert aborted.failure is not None
    assert list(realm.names()) == []


def test_a_cell_that_was_interrupted_before_its_begin_never_runs(opened: Opener) -> None:
    realm = opened()
    execution = _start(realm, "a = 1")
    execution.interrupt()
    assert execution.poll(0.0, None).exhausted
    assert execution.abort("stopped").failure is None
    assert list(realm.names()) == []


def test_the_time_of_a_poll_is_up(opened: Opener) -> None:
    realm = opened()
    execution = _start(realm, "a = 1\nwhile True: pass")
    assert execution.poll(0.0, 0.05).exhausted
    execution.abort("time")
    assert list(realm.names()) == []


def test_a_missing_value_is_explained(opened: Opener) -> None:
    realm = opened()
    realm.load({"gone": {"$": "lost", "v": "it was a socket"}})
    completion = _start(realm, "gone").poll(0.0, None).completion
    assert completion is not None
    assert completion.error is not None
    message = "Value for 'gone' was not restored because it was a socket."
    assert completion.error.message == message


def test_what_is_assigned_to_bridges_is_reported_and_bounded(
    engine: MontyEngine, offer: Offer
) -> None:
    names = [f"k{at}" for at in range(7)]
    realm = engine.open(Limits(), offer(*names))
    progress = _start(realm, "\n".join(f"{name} = 1" for name in names)).poll(0.0, None)
    (call,) = progress.notifications
    lines = call.wire["text"].splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("k0 is the name of a bridge; what the cell assigned to it ends")


def test_a_waiting_cell_goes_on_in_another_realm(
    opened: Opener, engine: MontyEngine, offer: Offer
) -> None:
    realm = opened()
    execution = _start(realm, "a = 20\nprint('hi')\nb = await kit.echo(5)\na + b")
    (request,) = execution.poll(0.0, None).requests
    image = realm.image()
    again = engine.open(Limits(cpu_seconds=30.0), offer("kit.echo"), image).resume()
    again.settle([Settlement(id=request.id, text="22")])
    progress = again.poll(0.0, None)
    assert progress.completion is not None
    assert progress.completion.text == "42"
    assert [call.wire["text"] for call in progress.notifications] == ["hi"]
    realm.close()
