"""The stored form of a cell in the middle of its run."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from pending_runs import PendingRun, pay

from interpstack import (
    Capability,
    Cell,
    Image,
    ImageError,
    Limits,
    Request,
    Settlement,
    Step,
)
from interpstack_durable.api import MemoryJournalStore
from interpstack_durable.cell_journal import CellJournal
from interpstack_durable.forms import VERSION
from interpstack_durable.in_flight import InFlightRegistry
from interpstack_durable.journal import Suspension
from interpstack_durable.suspensions import StoredRun, read_suspension, suspension_text

SUSPENSION = Suspension(
    image=Image("e", "b", b"\0\1\2"),
    steps=1,
    asked=(Request(1, "a", None),),
    open=(Request(2, "b", {"n": 1}, True),),
    made={"a": 1},
    console=(("out", 2),),
    cpu_seconds=0.5,
)
FIELDS: dict[str, Any] = {
    "version": VERSION,
    "image": ["e", "b", "AAEC"],
    "steps": 1,
    "asked": [[1, "a", None, False]],
    "open": [[2, "b", {"n": 1}, True]],
    "made": {"a": 1},
    "console": [["out", 2]],
    "cpu_seconds": 0.5,
}


def test_the_form_is_the_one_that_is_stored() -> None:
    assert suspension_text(SUSPENSION) == json.dumps(FIELDS, separators=(",", ":"))
    assert read_suspension(suspension_text(SUSPENSION)) == SUSPENSION


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "7",
        "[" * 100_000,
        {**FIELDS, "version": 1},
        {**FIELDS, "more": 1},
        {key: value for key, value in FIELDS.items() if key != "made"},
        {**FIELDS, "image": ["e", "b", "?"]},
        {**FIELDS, "made": {"a": "1"}},
        {**FIELDS, "console": [["out"]]},
        {**FIELDS, "open": [[2, "b", {"n": 1}]]},
    ],
)
def test_what_is_damaged_or_of_another_release_is_not_read(stored: Any) -> None:
    assert read_suspension(stored if isinstance(stored, str) else json.dumps(stored)) is None


def test_numbers_may_be_whole() -> None:
    whole = read_suspension(json.dumps({**FIELDS, "cpu_seconds": 2}))
    assert whole == attrs.evolve(SUSPENSION, cpu_seconds=2.0)


def _journal(suspends: bool = True, text: str | None = None) -> Any:
    store: Any = MemoryJournalStore("cell")
    store.suspends, store._text = suspends, text
    return CellJournal(store, Cell(source="1"))


async def _suspended(
    run: PendingRun,
    capability: Capability | None = Capability.SUSPENSION,
    *,
    in_flight: InFlightRegistry | None = None,
    suspends: bool = True,
) -> Suspension | None:
    """Suspend a run whose guest has received four steps, and return what is stored."""
    journal = _journal(suspends)
    stored = StoredRun(journal, in_flight or InFlightRegistry())
    assert await stored.open({capability} if capability else set()) is None
    await stored.suspend(run.pending, 4, [pay(5)])
    found: Suspension | None = await journal.suspended()
    return found


@pytest.mark.parametrize("capability", [Capability.SUSPENSION, Capability.KEPT_REALMS, None])
@pytest.mark.parametrize("suspends", [True, False])
async def test_runs_are_stored_where_engine_and_journal_can(
    capability: Capability | None, suspends: bool
) -> None:
    found = await _suspended(PendingRun(), capability, suspends=suspends)
    assert (found is not None) == (suspends and capability is not None)


async def test_a_suspension_has_what_the_next_run_needs() -> None:
    run = PendingRun()
    run.run.context.write_console("hello")
    for request in (pay(1), pay(2), Request(3, "timer", 0)):
        run.pending.add(request)
    await run.pending.replay(Step(0.0, (Settlement(1, '"paid"'),)))
    run.pending.release()
    await run.settled()
    suspended = await _suspended(run)
    assert suspended is not None
    assert suspended.image == Image("fake", "v1", b"state")
    assert (suspended.steps, suspended.cpu_seconds) == (4, 1.5)
    assert [one.id for one in suspended.open] == [2, 3]
    assert [one.id for one in suspended.asked] == [5]
    assert dict(suspended.made) == {"a.pay": 1}  # before those that are still open
    assert suspended.console == (("hello", 0),)


async def test_a_run_that_cannot_be_stored_whole_is_not_suspended() -> None:
    answered, attached = PendingRun(), PendingRun()
    answered.run.answered = True
    attached.run.context.attach(object())
    for run in (answered, attached):
        assert await _suspended(run) is None
    assert await _suspended(answered, Capability.KEPT_REALMS) is None


async def test_a_guest_that_cannot_be_suspended_is_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> Image:
        raise ImageError("no cell waits")

    run = PendingRun()
    monkeypatch.setattr(run.run.realm, "image", refuse)
    assert await _suspended(run, Capability.KEPT_REALMS) is None


async def test_a_run_whose_live_realm_is_kept_keeps_its_attachments_in_memory() -> None:
    run, in_flight = PendingRun(), InFlightRegistry()
    run.run.context.write_console("hello")
    run.run.context.attach("image")
    suspended = await _suspended(run, Capability.KEPT_REALMS, in_flight=in_flight)
    assert suspended is not None
    assert suspended.console == (("hello", 0),)
    assert run.run.context.attachments == ("image",)
    assert in_flight.take_attached(suspended.image) == ("image",)
    assert in_flight.take_attached(suspended.image) is None


async def _resumed(journal: Any, capability: Capability, in_flight: InFlightRegistry) -> PendingRun:
    stored, run = StoredRun(journal, in_flight), PendingRun(Limits(requests=2))
    assert await stored.open({capability}) == SUSPENSION.image
    stored.go_on(run.pending)
    return run


async def test_a_stored_run_goes_on_with_the_requests_that_were_let_in() -> None:
    before = attrs.evolve(SUSPENSION, open=(pay(3),), made={"a.pay": 2}, console=(("hello", 0),))
    journal = _journal(text=suspension_text(before))
    run = await _resumed(journal, Capability.SUSPENSION, InFlightRegistry())
    assert (run.run.context.console, run.run.clock.cpu_seconds) == ((("hello", 0),), 2.0)
    assert run.guard.noted == [("resumed", {"a.pay": 2})]
    run.pending.add(pay(4))
    run.pending.release()
    assert sorted(await run.settled()) == [(3, '"call 3"'), (4, "CallBudgetExceeded")]
    assert run.called == ["call 3"]


async def test_an_image_of_a_live_realm_is_opened_with_its_attachments() -> None:
    in_flight, text = InFlightRegistry(), suspension_text(SUSPENSION)
    unknown = StoredRun(_journal(text=text), in_flight)
    in_another_process = await unknown.open({Capability.KEPT_REALMS})
    assert in_another_process is None, "its attachments are in the memory of that process"
    in_flight.keep_attached(SUSPENSION.image, ("shown",))
    resumed = await _resumed(_journal(text=text), Capability.KEPT_REALMS, in_flight)
    assert resumed.run.context.attachments == ("shown",)
    elsewhere = await _resumed(_journal(text=text), Capability.SUSPENSION, in_flight)
    assert elsewhere.run.context.attachments == ()
