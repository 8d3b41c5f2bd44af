"""The journal of one cell: replays the entries of its store, then records new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Protocol

import attrs

from interpstack import Cell, Request, Step
from interpstack_durable.entries import (
    Computed,
    Entry,
    answered_by,
    compare,
    digest,
    header,
    read_computed,
    read_step,
    read_undelivered,
    step_entry,
    undelivered_entry,
)
from interpstack_durable.forms import read_recorded, reporting_damage
from interpstack_durable.journal import (
    Journal,
    ReplayDivergence,
    Suspension,
    UndeliveredAnswers,
)
from interpstack_durable.suspensions import read_suspension, suspension_text

__all__ = ["CellJournal", "JournalStore"]


class JournalStore(Protocol):
    """A store for the journal of one cell, implemented by an adapter.

    Attributes:
        key: Identifies the cell among all cells, the same in every run of it.
        suspends: See `Journal.suspends`.
        pause_grace: See `Journal.pause_grace`.
    """

    key: str
    suspends: bool
    pause_grace: float

    async def load(self) -> Sequence[Entry]:
        """The entries that were appended, in order."""

    async def append(self, index: int, entry: Entry) -> None:
        """Keep an entry at `index`; return once it is safe."""

    async def append_spent(self, record: Entry) -> None:
        """Store a record of drawn amounts; return once it is safe."""

    def spent(self) -> Sequence[Entry]:
        """The records of drawn amounts that were stored when the entries were loaded."""

    async def keep_suspended(self, text: str) -> None:
        """Store a suspended run, in place of an earlier one."""

    async def suspended(self) -> str | None:
        """The stored suspended run."""

    async def take_answers(self, journal: Journal) -> None:
        """See `Journal.resume` and `Journal.check_answers`."""

    async def pause(
        self,
        journal: Journal,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
    ) -> BaseException:
        """See `Journal.pause`."""


class CellJournal(Journal):
    """The journal of one run of a cell.

    Args:
        store: Keeps the entries.
        cell: The cell to run.
    """

    def __init__(self, store: JournalStore, cell: Cell) -> None:
        self.seed = int.from_bytes(blake2b(store.key.encode(), digest_size=16).digest(), "big")
        self.suspends = store.suspends
        self.pause_grace = store.pause_grace
        self._store = store
        self._cell = cell
        self._steps: list[Entry] = []
        self._undelivered: list[Entry] = []
        self._place = 0
        self._count = 0
        self._notes: dict[str, Any] = {}
        self._unwritten: dict[str, Any] = {}
        #: An entry whose write failed; the store may have it all the same.
        self._unsure: dict[str, Any] = {}
        #: A step that the journal has, and that the guest of this run does not receive any more.
        self._ahead: dict[str, Any] = {}
        #: The highest number of a request in the steps.
        self._made = 0
        self._began = 0.0
        self._computed: Computed | None = None

    async def begin(self, now: float) -> float:
        stored = await self._store.load()
        self._began = now
        with reporting_damage():
            self._take_up(stored)
        return self._began

    def _take_up(self, stored: Sequence[Entry]) -> None:
        """Continue from the entries of an earlier run; all are read before anything is done."""
        entries = read_recorded(stored)
        self._count = len(entries)
        if entries:
            self._began = self._read_header(entries[0])
        for entry in entries:
            self._notes.update(entry.get("notes", {}))
            self._undelivered = (
                [] if "now" in entry else self._undelivered + [entry] * ("kept" in entry)
            )
        self._steps = [entry for entry in entries if "now" in entry]
        for entry in entries:
            _check(entry)
        for step in self._steps:
            self._note_made(step)

    def replay(self, asked: Sequence[Request]) -> Step | None:
        if self._place == len(self._steps):
            return None
        entry = self._steps[self._place]
        compare(self._place + 1, entry["asked"], asked)
        self._place += 1
        return read_step(entry)

    async def resume(self) -> None:
        await self._store.take_answers(self)
        # Requests may depend on the clock, so it is recorded before they are made. In later runs,
        # too, a store that takes no entries fails before a call is made that it could not record.
        await self._append({})

    async def check_answers(self) -> None:
        await self._store.take_answers(self)

    async def record(self, asked: Sequence[Request], step: Step) -> None:
        await self._append(step_entry(asked, step, self._computed))
        self._ahead = {}

    async def keep(self, asked: Sequence[Request] | None, ended: Step) -> None:
        known = frozenset[int]().union(*map(answered_by, (self._unsure, self._ahead)))
        left = tuple(one for one in ended.settlements if one.id not in known)
        ended = attrs.evolve(ended, settlements=left)
        if self._ahead:  # that step has the requests
            await self._append(undelivered_entry(None, ended, made=self._made))
            return
        await self._append(undelivered_entry(asked, ended, self._computed))

    def undelivered(self, asked: Sequence[Request]) -> UndeliveredAnswers | None:
        pausing = next((e["kept"] for e in self._undelivered if e["kept"]["pausing"]), None)
        if pausing is not None:  # later entries have the same
            compare(self._place + 1, pausing["asked"], asked)
        return read_undelivered(self._undelivered)

    async def pause(
        self,
        asked: Sequence[Request],
        step: Step,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request] = (),
    ) -> BaseException:
        # Written with the notes on the pause.
        self._unwritten = step_entry(asked, step, self._computed)
        error = await self._store.pause(self, paused, running)
        if self._unwritten:
            await self._append({})
        return error

    def computed(self, times: Computed) -> None:
        self._computed = times

    async def keep_amounts(self, record: Entry) -> None:
        await self._store.append_spent(record)

    def amounts(self) -> Sequence[Entry]:
        return self._store.spent()

    async def suspend(self, suspension: Suspension) -> None:
        await self._store.keep_suspended(suspension_text(suspension))

    async def suspended(self) -> Suspension | None:
        text = await self._store.suspended()
        return None if text is None else read_suspension(text)

    def skip(self, steps: int) -> None:
        self._place = steps

    def noted(self, key: str) -> Any:
        return self._notes.get(key)

    async def note(self, notes: Mapping[str, Any]) -> None:
        await self._append({"notes": dict(notes)})
        self._notes.update(notes)

    async def _append(self, entry: dict[str, Any]) -> None:
        step, self._unwritten = self._unwritten, {}
        if self._unsure:
            # Stores keep the first entry of an index, and some say nothing about another one.
            await self._write(self._unsure)
        first = {} if self._count else header(self._cell, self._began)
        await self._write({**first, **step, **entry})

    async def _write(self, entry: dict[str, Any]) -> None:
        self._unsure = entry
        if "now" in entry:
            self._ahead = entry
            self._note_made(entry)
        await self._store.append(self._count, entry)
        self._unsure = {}
        self._count += 1  # an entry that could not be stored leaves no gap

    def _note_made(self, step: Entry) -> None:
        if step["asked"]:  # in the order of their numbers
            self._made = max(self._made, step["asked"][-1][0])

    def _read_header(self, entry: Entry) -> float:
        if entry["cell"] != digest(self._cell.source):
            raise ReplayDivergence(
                "the journal records a run of different code; run that code, or begin a new eval"
            )
        return float(entry["began"])


def _check(entry: Entry) -> None:
    """Raise one of `_DAMAGE` if an entry cannot be read."""
    asked = [entry["asked"]] if "now" in entry else []
    if asked:
        read_step(entry)
        read_computed(entry)
    if "kept" in entry:
        read_undelivered([entry])
        read_computed(entry["kept"])
        asked += [entry["kept"]["asked"]] if entry["kept"]["pausing"] else []
    for number, bridge, start, shown in (request for part in asked for request in part):
        if [type(item) for item in (number, bridge, start, shown)] != [int, str, str, str]:
            raise ValueError("a request takes an id, a bridge and two texts")
    if any(type(amount) not in (int, float) for amount in entry.get("drawn", {}).values()):
        raise ValueError("amounts are numbers")
