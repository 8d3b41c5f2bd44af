"""Notes on the unanswered requests of suspended cells."""

from __future__ import annotations

import time

import pytest

from interpstack import Cell, Request
from interpstack_durable.api import MemoryJournalStore, ReplayDivergence
from interpstack_durable.background.suspension_notes import check_suspension_note, suspension_note
from interpstack_durable.cell_journal import CellJournal
from interpstack_durable.entries import Computed

ASKED = [Request(1, "kit.f", {"n": 1}), Request(2, "timer", 10)]


async def _noted(steps: int, computed: Computed | None = None) -> CellJournal:
    journal = CellJournal(MemoryJournalStore("cell"), Cell(source="1"))
    await journal.begin(time.time())
    await journal.note(suspension_note(steps, ASKED, computed))
    return journal


async def test_a_cell_that_was_put_aside_asks_for_the_same() -> None:
    journal = await _noted(steps=2)
    check_suspension_note(journal, 2, ASKED)
    with pytest.raises(ReplayDivergence, match="at step 3 the code asks for nothing more"):
        check_suspension_note(journal, 2, [])


async def test_a_cell_that_went_on_since_it_was_put_aside_is_not_compared() -> None:
    assert check_suspension_note(await _noted(steps=2, computed=(1.0, 2.0)), 3, []) is None


async def test_the_time_of_the_requests_is_noted() -> None:
    assert check_suspension_note(await _noted(2, (1.0, 2.0)), 2, ASKED) == (1.0, 2.0)
    assert check_suspension_note(await _noted(2), 2, ASKED) is None


async def test_a_cell_that_was_never_put_aside_is_not_compared() -> None:
    journal = CellJournal(MemoryJournalStore("cell"), Cell(source="1"))
    await journal.begin(time.time())
    check_suspension_note(journal, 0, ASKED)
