"""Tests of interpstack_durable.recorded: adapters read journals without knowing their form."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Cell, GuestError, Request, Settlement, Step
from interpstack_durable.api import RecordedCell, RecordedRequest, UnreadableJournal, read_cell
from interpstack_durable.entries import header, step_entry, undelivered_entry

_PAY = Request(1, "tools.pay", {"to": "Ann"})
_ASK = Request(2, "tools.ask", "who?")
_PAID = Settlement(1, '"paid"')
_FAILED = Settlement(2, error=GuestError("ToolError", "nobody"), refused=True)


def _step() -> dict[str, Any]:
    return step_entry([_PAY, _ASK], Step(101.5, (_PAID,)), (100.25, 100.5))


def _entries() -> list[dict[str, Any]]:
    return [
        {**header(Cell(source="1"), 100.0), **_step()},
        {"notes": {"pauses": 1, "by": "Bo"}},
        undelivered_entry(None, Step(0.0, (_FAILED,))),
        {"notes": {"by": "Cy"}},
    ]


def test_entries_are_read_in_order() -> None:
    cell = read_cell(_entries())
    assert cell.began == 100.0
    step, noted, kept, _ = cell.entries
    assert step.asked == (
        RecordedRequest(id=1, bridge="tools.pay", input='{"to":"Ann"}'),
        RecordedRequest(id=2, bridge="tools.ask", input='"who?"'),
    )
    assert (step.now, step.undelivered, step.settlements) == (101.5, False, (_PAID,))
    assert (step.computed, noted.computed, kept.computed) == ((100.25, 100.5), None, None)
    assert (noted.now, noted.asked, noted.settlements) == (None, (), ())
    assert (kept.now, kept.undelivered, kept.settlements) == (None, True, (_FAILED,))


def test_later_notes_replace_earlier_ones() -> None:
    assert read_cell(_entries()).notes == {"pauses": 1, "by": "Cy"}


def test_nothing_recorded_is_a_cell_that_never_began() -> None:
    assert read_cell([]) == RecordedCell(began=None, entries=())


def test_the_form_of_a_later_release_is_refused() -> None:
    entries = _entries()
    entries[0]["version"] = 99
    with pytest.raises(UnreadableJournal, match="the form 99"):
        read_cell(entries)


@pytest.mark.parametrize(
    "change",
    [
        {"settled": [[1]]},
        {"asked": 7},
        {"asked": [[1]]},
        {"now": "late"},
        {"now": 10**400},
        {"began": None},
        {"kept": None},
        {"computed": [1.0]},
    ],
)
def test_damage_is_reported(change: dict[str, Any]) -> None:
    entries = _entries()
    entries[0] |= change
    with pytest.raises(UnreadableJournal, match="is damaged"):
        read_cell(entries)
