"""Requests of a replayed guest: answered from the journal where it can, made where it must be."""

from __future__ import annotations

from pending_runs import PendingRun, pay

from interpstack import GuestError, Request, Settlement, Step


async def test_a_request_is_made_only_once_the_journal_has_no_answer() -> None:
    world = PendingRun()
    for number in (1, 2, 3):
        world.pending.add(pay(number))
    await world.pending.replay(Step(0.0, (Settlement(2, '"recorded"'),)))
    assert (await world.settled(), world.called) == ([], [])
    world.pending.release()
    assert await world.settled() == [(1, '"call 1"'), (3, '"call 3"')]
    assert world.called == ["call 1", "call 3"]
    assert (world.pending.unstarted, set(world.pending.undelivered)) == ({}, {1, 3})
    world.pending.delivered(Step(0.0, (Settlement(1), Settlement(99))))
    assert set(world.pending.undelivered) == {3}


async def test_guards_learn_what_a_recorded_step_answers() -> None:
    world = PendingRun()
    for number in (1, 2):
        world.pending.add(pay(number))
    await world.pending.replay(Step(0.0, (Settlement(2), Settlement(7))))
    assert world.guard.noted == [("restored", [1, 2]), ("replayed", 2)]


async def test_output_is_delivered_again_but_no_effect() -> None:
    world = PendingRun()
    printed = Request(1, "a.print", "line")
    world.pending.add(printed)
    world.pending.add(pay(2))
    await world.pending.replay(Step(0.0, (Settlement(1), Settlement(2, '"paid"'))))
    assert world.called == ["line"]
    for missing in (None, Settlement(1, error=GuestError("E", ""))):
        assert await world.pending.repeated(printed, missing) is missing
    assert world.called == ["line"]


async def test_undelivered_answers_wait_for_the_guest_and_nothing_is_called() -> None:
    world = PendingRun()
    world.pending.add(pay(1))
    foreign = Settlement(9, '"of another request"')
    await world.pending.take_undelivered(Step(0.0, (Settlement(1, '"paid"'), foreign)))
    assert (world.pending.unstarted, set(world.pending.undelivered)) == ({}, {1})
    assert await world.settled() == [(1, '"paid"')]
    world.pending.release()
    assert world.called == []


async def test_refused_requests_are_answered_with_the_reason_and_never_made() -> None:
    world = PendingRun()
    for number in (1, 2):
        world.pending.add(pay(number))
    await world.pending.refuse("Rejected", "Ann said no")
    answers = world.run.requests.take_settled()
    assert [one.id for one in answers] == [1, 2]
    for one in answers:
        assert one.refused
        assert one.error == GuestError("Rejected", "Ann said no, so this was not done")
    world.pending.release()
    assert world.called == []


async def test_a_request_that_the_guest_cancelled_is_neither_made_nor_kept() -> None:
    world = PendingRun()
    for number in (1, 2):
        world.pending.add(pay(number))
    world.pending.drop(1)
    world.pending.release()
    assert await world.settled() == [(2, '"call 2"')]
    world.pending.drop(2)
    assert world.pending.undelivered == {}
