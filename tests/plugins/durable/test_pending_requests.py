"""Requests of a replayed guest: answered from the journal where it can, made where it must be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from interpstack import (
    Bridge,
    BridgeSet,
    Cell,
    CellContext,
    CellGuard,
    CellRun,
    GuestError,
    Image,
    ImageError,
    Limits,
    Request,
    Settlement,
    Step,
    StepSource,
)
from interpstack.cells.guards import Guards
from interpstack.cells.requests import Requests
from interpstack_durable.in_flight import InFlightRegistry
from interpstack_durable.journal import Suspension
from interpstack_durable.pending_requests import PendingRequests


class _Guard(CellGuard):
    """Notes the restored steps of earlier runs."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    def restored(self, step: Step, asked: Iterable[Request]) -> None:
        self.noted.append(("restored", [one.id for one in asked]))

    def replayed(self, bridge: Any, request: Request, settlement: Settlement) -> None:
        self.noted.append(("replayed", request.id))

    def resumed(self, bridges: Any, made: Any) -> None:
        self.noted.append(("resumed", dict(made)))


class _Realm:
    def image(self) -> Image:
        return Image("fake", "v1", b"state")


class _Clock:
    cpu_seconds = 1.5

    def go_on(self, cpu_seconds: float) -> None:
        self.cpu_seconds += cpu_seconds

    def wall_left(self) -> float | None:
        return 20.0


class _World:
    """Requests of one run, whose handlers note that they are called."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.called: list[Any] = []
        self.guard = _Guard()

        async def handle(value: Any) -> Any:
            self.called.append(value)
            return value

        bridges = (
            Bridge(name="a.pay", handler=handle, raw=True),
            Bridge(name="a.print", handler=handle, raw=True, awaited=False, repeats=True),
        )
        cell = Cell(source="", seed=1)
        requests = Requests(
            bridges=BridgeSet({one.name: one for one in bridges}),
            limits=limits or Limits(),
            context=CellContext("s", cell),
            resolve_module=lambda specifier: None,
            guards=Guards((self.guard,)),
            earlier=StepSource().earlier,
            grace=StepSource().grace,
        )
        parts: Any = (_Realm(), requests, requests.context, _Clock())
        self.run = CellRun(*parts)
        self.pending = PendingRequests(self.run)

    async def settled(self) -> list[tuple[int, str]]:
        requests = self.run.requests
        while requests.open:
            assert await requests.wait(20)
        return [
            (one.id, one.error.name if one.error else one.text) for one in requests.take_settled()
        ]


def _pay(number: int) -> Request:
    return Request(number, "a.pay", f"call {number}")


async def test_a_request_is_made_only_once_the_journal_has_no_answer() -> None:
    world = _World()
    for number in (1, 2, 3):
        world.pending.add(_pay(number))
    await world.pending.replay(Step(0.0, (Settlement(2, '"recorded"'),)))
    assert (await world.settled(), world.called) == ([], [])
    world.pending.release()
    assert await world.settled() == [(1, '"call 1"'), (3, '"call 3"')]
    assert world.called == ["call 1", "call 3"]
    assert (world.pending.unstarted, set(world.pending.undelivered)) == ({}, {1, 3})
    world.pending.delivered(Step(0.0, (Settlement(1), Settlement(99))))
    assert set(world.pending.undelivered) == {3}


async def test_guards_learn_what_a_recorded_step_answers() -> None:
    world = _World()
    for number in (1, 2):
        world.pending.add(_pay(number))
    await world.pending.replay(Step(0.0, (Settlement(2), Settlement(7))))
    assert world.guard.noted == [("restored", [1, 2]), ("replayed", 2)]


async def test_output_is_delivered_again_but_no_effect() -> None:
    world = _World()
    printed = Request(1, "a.print", "line")
    world.pending.add(printed)
    world.pending.add(_pay(2))
    await world.pending.replay(Step(0.0, (Settlement(1), Settlement(2, '"paid"'))))
    assert world.called == ["line"]
    for missing in (None, Settlement(1, error=GuestError("E", ""))):
        assert await world.pending.repeated(printed, missing) is missing
    assert world.called == ["line"]


async def test_undelivered_answers_wait_for_the_guest_and_nothing_is_called() -> None:
    world = _World()
    world.pending.add(_pay(1))
    foreign = Settlement(9, '"of another request"')
    await world.pending.take_undelivered(Step(0.0, (Settlement(1, '"paid"'), foreign)))
    assert (world.pending.unstarted, set(world.pending.undelivered)) == ({}, {1})
    assert await world.settled() == [(1, '"paid"')]
    world.pending.release()
    assert world.called == []


async def test_refused_requests_are_answered_with_the_reason_and_never_made() -> None:
    world = _World()
    for number in (1, 2):
        world.pending.add(_pay(number))
    await world.pending.refuse("Rejected", "Ann said no")
    answers = world.run.requests.take_settled()
    assert [one.id for one in answers] == [1, 2]
    for one in answers:
        assert one.refused
        assert one.error == GuestError("Rejected", "Ann said no, so this was not done")
    world.pending.release()
    assert world.called == []


async def test_a_request_that_the_guest_cancelled_is_neither_made_nor_kept() -> None:
    world = _World()
    for number in (1, 2):
        world.pending.add(_pay(number))
    world.pending.drop(1)
    world.pending.release()
    assert await world.settled() == [(2, '"call 2"')]
    world.pending.drop(2)
    assert world.pending.undelivered == {}


async def test_an_unfinished_run_goes_on_with_the_requests_that_were_let_in() -> None:
    world = _World(Limits(requests=2))
    image = Image("fake", "1", b"")
    before = {"steps": 1, "asked": (), "console": (("hello", 0),), "cpu_seconds": 2.0}
    world.pending.go_on(Suspension(image=image, open=(_pay(3),), made={"a.pay": 2}, **before))
    assert (world.run.context.console, world.run.clock.cpu_seconds) == ((("hello", 0),), 3.5)
    assert world.guard.noted == [("resumed", {"a.pay": 2})]
    world.pending.add(_pay(4))
    world.pending.release()
    assert sorted(await world.settled()) == [(3, '"call 3"'), (4, "CallBudgetExceeded")]
    assert world.called == ["call 3"]


async def test_a_suspension_has_what_the_next_run_needs() -> None:
    world = _World()
    world.run.context.write_console("hello")
    for request in (_pay(1), _pay(2), Request(3, "timer", 0)):
        world.pending.add(request)
    await world.pending.replay(Step(0.0, (Settlement(1, '"paid"'),)))
    world.pending.release()
    await world.settled()
    suspended = await world.pending.suspension(4, (_pay(5),))
    assert suspended is not None
    assert suspended.image == Image("fake", "v1", b"state")
    assert (suspended.steps, suspended.cpu_seconds) == (4, 1.5)
    assert [one.id for one in suspended.open] == [2, 3]
    assert [one.id for one in suspended.asked] == [5]
    assert dict(suspended.made) == {"a.pay": 1}  # before those that are still open
    assert suspended.console == (("hello", 0),)


async def test_a_run_that_cannot_be_stored_whole_is_not_suspended() -> None:
    answered, attached = _World(), _World()
    answered.run.answered = True
    attached.run.context.attach(object())
    for world in (answered, attached):
        assert await world.pending.suspension(0, ()) is None
    assert await answered.pending.suspension(0, (), InFlightRegistry()) is None


async def test_a_parked_run_keeps_its_attachments_in_memory() -> None:
    world, in_flight = _World(), InFlightRegistry()
    world.run.context.write_console("hello")
    world.run.context.attach("image")
    suspended = await world.pending.suspension(0, (), in_flight)
    assert suspended is not None
    assert suspended.console == (("hello", 0),)
    assert world.run.context.attachments == ["image"]
    assert in_flight.take_attached(suspended.image) == ("image",)
    assert in_flight.take_attached(suspended.image) is None


async def test_a_guest_that_cannot_be_suspended_is_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> Image:
        raise ImageError("no cell waits")

    world, in_flight = _World(), InFlightRegistry()
    monkeypatch.setattr(world.run.realm, "image", refuse)
    assert await world.pending.suspension(0, (), in_flight) is None
