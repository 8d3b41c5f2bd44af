"""Public names of the plugin: parts for adapters to pass to it, and a reader of recorded cells."""

from __future__ import annotations

from interpstack_durable.background.cells import BackgroundCells, CellAnswer
from interpstack_durable.background.journals import Journals
from interpstack_durable.background.looks import Look, SeenOutput, StillRunning, cut_off
from interpstack_durable.background.memory_store import MemoryJournalStore
from interpstack_durable.background.parked_cells import free_parked
from interpstack_durable.cell_journal import JournalStore
from interpstack_durable.entries import answered_by, noted_in
from interpstack_durable.flights import CallsInFlight, Flights
from interpstack_durable.forms import UnreadableJournal, damage_told, form_of
from interpstack_durable.journal import Journal, ReplayDivergence, Suspension, UndeliveredAnswers
from interpstack_durable.recorded import RecordedCell, RecordedEntry, RecordedRequest, read_cell
from interpstack_durable.retries import retry_entry
from interpstack_durable.steps import GRACE_SECONDS, JournalSteps, journal_of, made_when

__all__ = [
    "GRACE_SECONDS",
    "BackgroundCells",
    "CallsInFlight",
    "CellAnswer",
    "Flights",
    "Journal",
    "JournalSteps",
    "JournalStore",
    "Journals",
    "Look",
    "MemoryJournalStore",
    "RecordedCell",
    "RecordedEntry",
    "RecordedRequest",
    "ReplayDivergence",
    "SeenOutput",
    "StillRunning",
    "Suspension",
    "UndeliveredAnswers",
    "UnreadableJournal",
    "answered_by",
    "cut_off",
    "damage_told",
    "form_of",
    "free_parked",
    "journal_of",
    "made_when",
    "noted_in",
    "read_cell",
    "retry_entry",
]
