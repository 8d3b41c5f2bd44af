"""Public names of the plugin: parts for adapters to pass to it, and a reader of recorded cells."""

from __future__ import annotations

from interpstack_durable.background.cells import BackgroundCells, CellAnswer
from interpstack_durable.background.kept_realms import free_kept_realm
from interpstack_durable.background.memory_store import MemoryJournalStore
from interpstack_durable.background.time_slices import SeenOutput, StillRunning, TimeSlice, cut_off
from interpstack_durable.cell_journal import JournalStore
from interpstack_durable.durable_run import (
    DurableRun,
    RunState,
    grace_of,
    journal_of,
    made_when,
)
from interpstack_durable.entries import answered_by, noted_in
from interpstack_durable.forms import UnreadableJournal, reporting_damage
from interpstack_durable.in_flight import InFlightCalls, InFlightRegistry
from interpstack_durable.journal import Journal, ReplayDivergence, Suspension, UndeliveredAnswers
from interpstack_durable.journals import Journals
from interpstack_durable.recorded import RecordedCell, RecordedEntry, RecordedRequest, read_cell
from interpstack_durable.retries import retry_entry

__all__ = [
    "BackgroundCells",
    "CellAnswer",
    "DurableRun",
    "InFlightCalls",
    "InFlightRegistry",
    "Journal",
    "JournalStore",
    "Journals",
    "MemoryJournalStore",
    "RecordedCell",
    "RecordedEntry",
    "RecordedRequest",
    "ReplayDivergence",
    "RunState",
    "SeenOutput",
    "StillRunning",
    "Suspension",
    "TimeSlice",
    "UndeliveredAnswers",
    "UnreadableJournal",
    "answered_by",
    "cut_off",
    "free_kept_realm",
    "grace_of",
    "journal_of",
    "made_when",
    "noted_in",
    "read_cell",
    "reporting_damage",
    "retry_entry",
]
