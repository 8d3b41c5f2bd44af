"""Tests of interpstack_workers.execution: a cell in a worker that may die at any command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_workers import LoopbackPool

from interpstack import BridgeSet, Cell, Limits, Settlement
from interpstack_testing import FakeEngine
from interpstack_workers import Command, WorkerDied
from interpstack_workers.realm import WorkerRealm
from interpstack_workers.residence import Residence
from interpstack_workers.saved_state import SavedRealm

RESTORED = "variables of earlier cells are restored from their values"


@pytest.fixture
def make() -> Callable[..., Any]:
    def realm(*, keep: bool = True, **values: Any) -> Any:
        pool: Any = LoopbackPool(FakeEngine, keep=keep)
        saved = SavedRealm(values=values) if values else SavedRealm()
        made: Any = WorkerRealm(Residence(FakeEngine(), pool, Limits(), BridgeSet(), saved))
        made.pool = pool
        return made

    return realm


def _start(realm: Any, source: str) -> Any:
    return realm.start(Cell(source=source, seed=1))


def test_a_cell_starts_in_no_worker_before_its_first_poll(make: Any) -> None:
    realm = make()
    execution = _start(realm, "1 + 1")
    assert realm.pool.started == []
    assert execution.poll(0.0, 5.0).completion.text == "2"
    assert realm.pool.worker.asked == ["open", "poll"]


def test_the_host_waits_longer_than_the_guest_may_compute(make: Any) -> None:
    realm = make()
    execution = _start(realm, "await sleep(1)")
    execution.poll(0.0, 2.0)
    execution.poll(0.0, None)
    polls = [one for one in realm.pool.worker.commands if one.message["do"] == "poll"]
    assert [(one.message["cpu"], one.seconds) for one in polls] == [(2.0, 7.0), (None, None)]


def test_answers_reach_the_cell_once(make: Any) -> None:
    realm = make()
    execution = _start(realm, "await sleep(1)\n5")
    (request,) = execution.poll(0.0, 5.0).requests
    execution.settle([Settlement(id=request.id, text="null")])
    assert execution.poll(0.0, 5.0).completion.text == "5"
    commands = [one.message for one in realm.pool.worker.commands]
    polls = [one for one in commands if one["do"] == "poll"]
    assert [len(one["settle"]) for one in polls] == [0, 1]
    assert [one["cell"] is None for one in polls] == [False, True]


def test_a_worker_that_dies_takes_the_cell_with_it_and_no_other_variable(make: Any) -> None:
    realm = make(a=1)
    execution = _start(realm, "a = 2")
    realm.residence.attach()
    realm.pool.worker.deaths = [("crashed", False)]
    progress = execution.poll(0.0, 5.0)
    assert progress.failure.message == f"the worker process crashed; {RESTORED}"
    assert progress.state == "undone"
    assert execution.poll(0.0, 5.0).failure is None  # it is over
    execution.undo()
    assert realm.values() == {"a": 1}


def test_a_cell_that_no_worker_has_read_begins_in_another(make: Any) -> None:
    realm = make()
    execution = _start(realm, "7")
    realm.residence.attach()
    realm.pool.worker.deaths = [("was killed", True)]
    assert execution.poll(0.0, 5.0).completion.text == "7"


def test_workers_that_die_one_after_another_are_given_up(make: Any) -> None:
    realm = make()
    execution = _start(realm, "7")
    realm.residence.attach()
    place = realm.pool.place

    def dying(number: int, key: str) -> Any:
        worker = place(number)
        ask = worker.ask

        def dies(command: Command) -> Any:
            if command.message["do"] == "poll":
                worker.end("was killed")
            return ask(command)

        worker.ask = dies
        return worker

    realm.pool.worker.end("was killed")
    realm.pool.place = dying
    message = execution.poll(0.0, 5.0).failure.message
    assert message.startswith("no worker process stays alive")
    assert len(realm.pool.started) == 6


def test_a_worker_that_was_killed_for_its_time_is_out_of_time(make: Any) -> None:
    realm = make(a=1)
    execution = _start(realm, "1")
    worker = realm.residence.attach()

    def late(command: Command) -> Any:
        worker.end("was killed because it did not answer within 2 s")
        raise WorkerDied(worker.reason, unread=False, late=True)

    worker.ask = late
    progress = execution.poll(0.0, 5.0)
    assert (progress.exhausted, progress.failure) == (True, None)
    found = execution.abort("time").failure
    assert found.message == f"{worker.reason}; {RESTORED}"
    assert execution.abort("again").failure is None


def test_a_cell_that_was_interrupted_before_its_turn_never_runs(make: Any) -> None:
    realm = make()
    execution = _start(realm, "a = 1")
    execution.interrupt()
    assert execution.poll(0.0, 5.0).exhausted
    assert realm.pool.started == []
    assert execution.abort("stopped").failure is None


def test_an_interruption_while_others_are_served_sends_nothing(make: Any) -> None:
    realm = make()
    execution = _start(realm, "a = 1")
    worker = realm.residence.attach()
    worker.ask = lambda command: None
    assert execution.poll(0.0, 5.0).exhausted
    assert execution.abort("stopped").failure is None


def test_a_cell_that_waits_can_be_aborted(make: Any) -> None:
    realm = make(a=1)
    execution = _start(realm, "a = 2\nawait sleep(1)")
    execution.poll(0.0, 5.0)
    assert execution.abort("enough").failure is None
    assert realm.values() == {"a": 2}


def test_a_cell_that_waits_dies_with_its_worker(make: Any) -> None:
    realm = make(a=1)
    execution = _start(realm, "a = 2\nawait sleep(1)")
    execution.poll(0.0, 5.0)
    realm.pool.worker.end("was killed")
    failure = execution.abort("enough").failure
    assert failure.message == f"the worker process was killed; {RESTORED}"
    assert realm.values() == {"a": 1}


def test_variables_that_are_not_kept_are_lost_and_said_so(make: Any) -> None:
    realm = make(keep=False)
    _start(realm, "a = 1").poll(0.0, 5.0)
    realm.pool.worker.end("was killed")
    progress = _start(realm, "a").poll(0.0, 5.0)
    assert progress.state == "lost"
    assert progress.loss.startswith("all variables of earlier cells are lost: states are not kept")
    assert _start(realm, "2").poll(0.0, 5.0).completion.text == "2"


@pytest.mark.parametrize("answer", [None, [], {"completion": 5}, {"requests": "x"}])
def test_a_malformed_progress_kills_the_worker(make: Any, answer: Any) -> None:
    realm = make(a=1)
    realm.residence.attach()
    realm.pool.worker.forge = lambda message: message.update(done=answer)
    failure = _start(realm, "1").poll(0.0, 5.0).failure
    assert failure.message.startswith("the worker process was killed because it sent")
    assert realm.pool.worker.ended


def test_a_busy_worker_is_waited_for_only_for_a_moment(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    realm = make()
    moved: list[Any] = []
    monkeypatch.setattr(realm.residence, "move_from", moved.append)
    _start(realm, "1").poll(0.0, 5.0)
    assert moved == []
    realm.pool.worker.busy = True
    _start(realm, "1").poll(0.0, 5.0)
    assert moved == [realm.pool.worker]


def test_output_is_asked_for_by_those_who_listen(make: Any) -> None:
    realm = make()
    execution = _start(realm, "print('hi')")
    heard: list[str] = []
    execution.listen(heard.append)
    calls = execution.poll(0.0, 5.0).notifications
    assert realm.pool.worker.commands[-1].message["listen"] is True
    assert [call.wire["text"] for call in calls] == ["hi"]
    _start(realm, "1").poll(0.0, 5.0)
    assert realm.pool.worker.commands[-1].message["listen"] is False
