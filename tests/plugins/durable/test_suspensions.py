"""The stored form of a cell in the middle of its run."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from interpstack import Capability, Cell, CellContext, Image, Request
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
    "before": 0,
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
        {**FIELDS, "before": 3},
        {**FIELDS, "more": 1},
        {key: value for key, value in FIELDS.items() if key != "before"},
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


@attrs.define(eq=False)
class _Pending:
    """Notes how a run is to be stored."""

    stored: list[Any] = attrs.field(factory=list)

    async def suspend(self, *arguments: Any) -> None:
        self.stored.append(arguments[1:])


def _journal(suspends: bool = True, text: str | None = None) -> Any:
    store: Any = MemoryJournalStore("cell")
    store.suspends, store._text = suspends, text
    return CellJournal(store, Cell(source="1"))


@pytest.mark.parametrize("capability", [Capability.SUSPENSION, Capability.PARKING, None])
@pytest.mark.parametrize("suspends", [True, False])
async def test_runs_are_stored_where_engine_and_journal_can(
    capability: Capability | None, suspends: bool
) -> None:
    in_flight = InFlightRegistry()
    stored, pending = StoredRun(_journal(suspends), in_flight), _Pending()
    assert await stored.open({capability} if capability else set()) is None
    await stored.suspend(pending, 3, ())  # type: ignore[arg-type]
    keeps = in_flight if capability is Capability.PARKING else None
    assert pending.stored == ([(3, (), keeps)] if suspends and capability else [])


async def test_an_image_of_a_live_realm_is_opened_with_its_attachments() -> None:
    in_flight, text = InFlightRegistry(), suspension_text(SUSPENSION)
    parks = {Capability.PARKING}
    unknown = StoredRun(_journal(text=text), in_flight)
    assert await unknown.open(parks) is None, "its attachments are in another process"
    in_flight.keep_attached(SUSPENSION.image, ("shown",))
    stored, context = StoredRun(_journal(text=text), in_flight), CellContext("s", Cell(source="1"))
    assert await stored.open(parks) == SUSPENSION.image
    stored.attach(context)
    assert context.attachments == ["shown"]
    elsewhere = StoredRun(_journal(text=text), in_flight)
    assert await elsewhere.open({Capability.SUSPENSION}) == SUSPENSION.image
    elsewhere.attach(context)
    assert context.attachments == ["shown"]
