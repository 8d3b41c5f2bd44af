"""Recorded cells: the contents of a journal, for adapters that render or analyse them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from interpstack import Settlement
from interpstack_durable.entries import Computed, Entry, read_answers, read_computed
from interpstack_durable.forms import read_recorded, reporting_damage

__all__ = ["RecordedCell", "RecordedEntry", "RecordedRequest", "read_cell"]


@attrs.frozen(kw_only=True)
class RecordedRequest:
    """A recorded request of the guest.

    Attributes:
        id: The number of the request, from 1 in each cell.
        bridge: The bridge that was called; `timer` and `module` are the guest's waits and imports.
        input: The first 200 characters of the input, as JSON.
    """

    id: int
    bridge: str
    input: str


@attrs.frozen(kw_only=True)
class RecordedEntry:
    """One entry of a journal.

    Attributes:
        asked: Requests that the guest made since the entry before.
        settlements: Answers to earlier requests.
        now: The clock of the step that delivered the answers, in seconds since 1970; `None` for
            an entry that is not a step.
        computed: The times at which the guest began to compute before these requests and had made
            them, in seconds since 1970; `None` where they are not recorded.
        undelivered: Whether the answers arrived before the run stopped and were not delivered.
        notes: Notes that the adapter added, by key.
    """

    asked: Sequence[RecordedRequest] = ()
    settlements: Sequence[Settlement] = ()
    now: float | None = None
    computed: Computed | None = None
    undelivered: bool = False
    notes: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class RecordedCell:
    """One recorded cell.

    Attributes:
        began: The clock of the cell's first poll, in seconds since 1970; `None` for a cell of
            which nothing is recorded.
        entries: The entries of its journal, in order.
    """

    began: float | None = None
    entries: Sequence[RecordedEntry] = ()

    @property
    def notes(self) -> Mapping[str, Any]:
        """The notes of all entries; of a key that was noted twice, the later value."""
        return {key: value for entry in self.entries for key, value in entry.notes.items()}


def read_cell(entries: Sequence[Entry]) -> RecordedCell:
    """Read the entries that a `JournalStore` keeps of one cell.

    Raises:
        UnreadableJournal: A release wrote the journal in a form that this one cannot read, or the
            journal is damaged.
    """
    if not entries:
        return RecordedCell()
    with reporting_damage():
        recorded = read_recorded(entries)
        return RecordedCell(began=float(recorded[0]["began"]), entries=tuple(map(_read, recorded)))


def _read(entry: Entry) -> RecordedEntry:
    undelivered = "kept" in entry
    part = entry["kept"] if undelivered else entry
    return RecordedEntry(
        asked=tuple(
            RecordedRequest(id=int(number), bridge=str(bridge), input=str(start))
            for number, bridge, _, start in part.get("asked", ())
        ),
        settlements=read_answers(part) if "settled" in part else (),
        now=float(entry["now"]) if "now" in entry else None,
        computed=read_computed(part),
        undelivered=undelivered,
        notes=entry.get("notes", {}),
    )
