"""Tests of interpstack_ray.actors: batches of the host, and every way in which an actor may end."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from fake_ray import FakeHandle, FakeRay

from interpstack import BridgeSet, Cell, EngineFailure, Limits
from interpstack.values import to_json
from interpstack_ray import actors as module
from interpstack_ray.actor import GuestActor, about_here
from interpstack_ray.actors import ActorConfig, ActorWorker
from interpstack_workers import Command, WorkerDied
from interpstack_workers.messages import pack_bridges

MESSAGE = {
    "engine": ["interpstack_quickjs.engine:QuickJSEngine"],
    "options": {},
    "keep": True,
    "memory_bytes": None,
}
OPEN = {
    "do": "open",
    "bridges": pack_bridges(BridgeSet()),
    "limits": to_json(Limits()),
    "image": None,
    "values": None,
    "redo": [],
}


@pytest.fixture
def ray() -> Iterator[FakeRay]:
    ray = FakeRay()
    yield ray
    for handle in ray.handles:
        handle.die("the test is over")
    ray.close()


@pytest.fixture
def make(ray: FakeRay) -> Iterator[Callable[..., Any]]:
    """Makes actors, with the handle that a test may break."""
    with ThreadPoolExecutor(1) as messages:

        def actor(**config: Any) -> tuple[ActorWorker, FakeHandle]:
            given = {"start_seconds": 30.0, "grace_seconds": 5.0, "max_bytes": 2**20, **config}
            handle = ray.remote(GuestActor).remote(given.pop("message", MESSAGE))
            worker = ActorWorker(
                handle,
                lambda: ray.kill(handle, no_restart=True),
                ActorConfig(message=MESSAGE, **given),
                lambda function, *more: messages.submit(function, *more),
                ended.append,
            )
            return worker, handle

        ended: list[ActorWorker] = []
        actor.ended = ended  # type: ignore[attr-defined]
        yield actor
        for handle in ray.handles:  # answers need the thread
            handle.die("the test is over")


def _poll(realm: int, source: str) -> dict[str, Any]:
    return {
        "do": "poll",
        "realm": realm,
        "bridges": None,
        "cell": to_json(Cell(source=source, seed=1)),
        "resume": False,
        "before": None,
        "settle": [],
        "now": 0.0,
        "cpu": 60.0,
        "spare": [None, 0.0],
    }


def _until_running(handle: Any) -> None:
    while handle.actor._service.running is None:
        time.sleep(0.01)


def _until_sent(worker: Any) -> None:
    while not worker._sent:
        time.sleep(0.01)


def test_many_commands_travel_in_few_batches(make: Any, ray: FakeRay) -> None:
    ray.slow = True
    worker, handle = make()
    opening = [worker.submit(Command({**OPEN, "realm": n}, seconds=30)) for n in range(100)]
    greeting = Future[Any]()
    greeting.set_result(about_here())
    worker._greeted(greeting)
    assert [one.result(30).message for one in opening] == [{"done": None}] * 100
    batches = [len(given[0]) for given in handle.given if given]
    assert sorted(size for size in batches if size) == [36, 64]  # of realms of their own
    assert not worker.busy


def test_the_engine_refuses_a_command_by_its_own_error(make: Any) -> None:
    worker, _ = make()
    with pytest.raises(EngineFailure, match="realm 5 is not open here"):
        worker.ask(Command({"do": "names", "realm": 5, "bridges": None}, seconds=30))
    assert not worker.ended


def test_a_realm_that_is_left_is_closed(make: Any) -> None:
    worker, _ = make()
    worker.ask(Command({**OPEN, "realm": 1}, seconds=30))
    worker.leave(1)
    with pytest.raises(EngineFailure, match="realm 1 is not open here"):
        worker.ask(Command({"do": "names", "realm": 1, "bridges": None}, seconds=30))


def test_a_guest_is_interrupted_and_a_command_behind_it_is_skipped(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STOP_SECONDS", 120)  # on a busy machine, too
    worker, handle = make()
    worker.ask(Command({**OPEN, "realm": 1}, seconds=30))
    stop = threading.Event()
    running = worker.submit(Command(_poll(1, "for (;;);"), seconds=60, interrupted=stop.is_set))
    behind = worker.submit(Command({**OPEN, "realm": 2}, seconds=30, interrupted=stop.is_set))
    _until_running(handle)
    stop.set()
    while not running.done():
        worker.check_time(time.monotonic())
        time.sleep(0.02)
    assert running.result().message["done"]["exhausted"] is True
    assert behind.result(30) is None
    assert not worker.ended


def test_a_guest_that_does_not_stop_costs_its_actor(make: Any, monkeypatch: Any) -> None:
    worker, handle = make()
    worker.ask(Command({**OPEN, "realm": 1}, seconds=30))
    handle.hangs.update({"exchange", "interrupt"})
    running = worker.submit(Command(_poll(1, "1"), seconds=60, interrupted=lambda: True))
    _until_sent(worker)
    now = time.monotonic()
    worker.check_time(now)
    assert "interrupt" in handle.calls
    worker.check_time(now + 2.1)
    with pytest.raises(WorkerDied, match="killed because it did not stop within 2 s") as death:
        running.result(30)
    assert (death.value.late, death.value.unread) == (True, False)
    assert make.ended == [worker]


def test_an_actor_that_does_not_answer_is_killed(make: Any) -> None:
    worker, handle = make()
    worker.ask(Command({**OPEN, "realm": 1}, seconds=30))
    handle.hangs.add("exchange")
    running = worker.submit(Command(_poll(1, "1"), seconds=10))
    _until_sent(worker)
    worker.check_time(time.monotonic() + 14)
    assert not worker.ended
    worker.check_time(time.monotonic() + 15.5)
    with pytest.raises(WorkerDied, match="did not answer within 15 s"):
        running.result(30)
    assert handle.dead


def test_a_death_reaches_commands_that_were_read_and_those_that_were_not(make: Any) -> None:
    worker, handle = make()
    worker.ask(Command({**OPEN, "realm": 1}, seconds=30))
    handle.hangs.add("exchange")
    sent = worker.submit(Command(_poll(1, "1"), seconds=60))
    _until_sent(worker)
    handle.die("The actor is dead because its node has died.\nThe actor is dead because of that.")
    with pytest.raises(WorkerDied, match="the actor died: of that") as death:
        sent.result(30)
    assert death.value.unread is False
    with pytest.raises(WorkerDied) as later:
        worker.ask(Command({**OPEN, "realm": 2}, seconds=30))
    assert later.value.unread is True
    assert make.ended == [worker]


def test_an_actor_that_cannot_start_says_why(make: Any) -> None:
    message = {**MESSAGE, "engine": ["interpstack_quickjs.engine:Missing"]}
    worker, _ = make(message=message)
    with pytest.raises(
        WorkerDied, match=r"died while it started: AttributeError: .*Missing"
    ) as death:
        worker.ask(Command({**OPEN, "realm": 1}, seconds=30))
    assert death.value.unread is True


def test_an_actor_without_a_place_in_the_cluster_is_given_up(make: Any, ray: FakeRay) -> None:
    ray.slow = True
    worker, _ = make()
    waiting = worker.submit(Command({**OPEN, "realm": 1}, seconds=30))
    worker.check_time(time.monotonic() + 29)
    assert not worker.ended
    worker.check_time(time.monotonic() + 31)
    with pytest.raises(EngineFailure, match=r"no actor was ready within 30 s .* resources"):
        waiting.result(30)


def test_a_node_of_another_version_is_refused(make: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "about_here", lambda: {**about_here(), "interpstack": "99"})
    worker, _ = make()
    with pytest.raises(WorkerDied, match=r"its node has interpstack .*, not 99"):
        worker.ask(Command({**OPEN, "realm": 1}, seconds=30))


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([(b"nothing", b"")], "Expecting value"),
        ([(b"[]", b"")], "a message without the number"),
        ([(b'{"number": "1"}', b"")], "a message without the number"),
        ([(b'{"number": -1}', b"")], "an answer to a command that was not sent"),
        ([(b'{"number": %d}', b"")], "a malformed error"),
        ([(b'{"number": %d, "answer": {"error": 5}}', b"")], "a malformed error"),
        ([(b'{"number": %d, "printed": 5}', b"")], "malformed data"),
        ([(b"{}", b"x" * 2**20)], "a message of more than 1048576 bytes"),
        ([5], "cannot unpack"),
        (None, "not iterable"),
    ],
)
def test_whatever_an_actor_sends_is_checked(make: Any, messages: Any, found: str) -> None:
    worker, handle = make()
    worker.ask(Command({**OPEN, "realm": 1}, seconds=30))

    async def exchange(commands: Any, leave: Any) -> Any:
        if messages is None:
            return None
        number = commands[0][0]
        return [
            one if one == 5 else (one[0].replace(b"%d", str(number).encode()), one[1])
            for one in messages
        ]

    handle.actor.exchange = exchange
    with pytest.raises(WorkerDied, match=f"was killed because it sent .*{found}"):
        worker.ask(Command({**OPEN, "realm": 2}, seconds=30))
    assert handle.dead


def test_output_is_heard_while_its_command_runs(make: Any) -> None:
    worker, handle = make()
    worker.ask(Command({**OPEN, "realm": 1}, seconds=30))
    heard: list[str] = []

    async def exchange(commands: Any, leave: Any) -> Any:
        number = commands[0][0]
        answer = {"number": number, "answer": {"done": None}}
        parts = [{"number": number, "printed": "a"}, {"number": -5, "printed": "lost"}, answer]
        return [(json.dumps(part).encode(), b"") for part in parts]

    handle.actor.exchange = exchange
    worker.ask(Command({**OPEN, "realm": 2}, seconds=30, hear=heard.append))
    assert heard == ["a"]


def test_a_command_that_was_not_sent_is_dropped_when_nobody_wants_it(
    make: Any, ray: FakeRay
) -> None:
    ray.slow = True
    worker, _ = make()
    wanted = worker.submit(Command({**OPEN, "realm": 1}, seconds=30))
    unwanted = worker.submit(Command({**OPEN, "realm": 2}, seconds=30, interrupted=lambda: True))
    worker.check_time(time.monotonic())
    assert unwanted.result(0) is None
    assert not wanted.done()


def test_a_command_that_is_taken_back_still_leaves_realms(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STOP_SECONDS", 120)  # on a busy machine, too
    worker, handle = make()
    for realm in (1, 2):
        worker.ask(Command({**OPEN, "realm": realm}, seconds=30))
    stop = threading.Event()
    running = worker.submit(Command(_poll(1, "for (;;);"), seconds=60, interrupted=stop.is_set))
    _until_running(handle)
    worker.leave(2)
    behind = worker.submit(Command({**OPEN, "realm": 3}, seconds=30, interrupted=stop.is_set))
    stop.set()
    while not (running.done() and behind.done()):
        worker.check_time(time.monotonic())
        time.sleep(0.02)
    with pytest.raises(EngineFailure, match="realm 2 is not open here"):
        worker.ask(Command({"do": "names", "realm": 2, "bridges": None}, seconds=30))


def test_a_host_that_has_disconnected_is_reported(make: Any) -> None:
    worker, handle = make()
    worker.ask(Command({**OPEN, "realm": 1}, seconds=30))
    handle.broken = "Ray has not been started yet."
    with pytest.raises(WorkerDied, match="cannot be asked: Ray has not been started yet"):
        worker.ask(Command({**OPEN, "realm": 2}, seconds=30))
