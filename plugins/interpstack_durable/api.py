"""Public names of the plugin: parts for adapters to pass to it, and a reader of recorded cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from interpstack_durable.cell_journal import JournalStore, ReplayDivergence
from interpstack_durable.entries import answered_by, noted_in
from interpstack_durable.flights import Flights
from interpstack_durable.forms import UnreadableJournal, form_of
from interpstack_durable.journal import Journal, Suspension, UndeliveredAnswers
from interpstack_durable.recorded import RecordedCell, RecordedEntry, RecordedRequest, read_cell
from interpstack_durable.retries import retry_entry
from interpstack_durable.steps import JournalSteps, journal_of

__all__ = [
    "Flights",
    "Journal",
    "JournalSteps",
    "JournalStore",
    "Journals",
    "RecordedCell",
    "RecordedEntry",
    "RecordedRequest",
    "ReplayDivergence",
    "Suspension",
    "UndeliveredAnswers",
    "UnreadableJournal",
    "answered_by",
    "form_of",
    "journal_of",
    "noted_in",
    "read_cell",
    "retry_entry",
]


@attrs.frozen
class Journals:
    """Part of a `HostOffer` that makes cells durable.

    Attributes:
        store_for: Called with `Session.host` when a cell is about to run. Returns the store for the
            cell's journal, or `None` for a cell that need not be durable.
        flights_for: Called with `Session.host`, too. Returns the place for calls that outlast a
            pause, which another run of the cell looks in. By default, each stack has one.
    """

    store_for: Callable[[Any], JournalStore | None]
    flights_for: Callable[[Any], Flights | None] = lambda host: None
