"""Planted faults in durable runs, journals, accounts, claims and stores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import attrs
from tests.model.mutants import Patch, mutant

from interpstack import Settlement
from interpstack_accounts.guard import AccountGuard
from interpstack_agents.approvals import CallQuestion
from interpstack_agents.conversations import StateJournal
from interpstack_durable import cell_journal
from interpstack_durable.cell_journal import CellJournal
from interpstack_durable.in_flight import InFlightCalls, InFlightRegistry
from interpstack_state import MemoryStore

_read_step = cell_journal.read_step
_replay = CellJournal.replay
_of = CallQuestion.of.__func__  # type: ignore[attr-defined]
_append = StateJournal.append


async def _nothing(*given: Any, **named: Any) -> None:
    """Do nothing."""


@mutant("recorded-first")
def steps_are_not_recorded() -> Sequence[Patch]:
    """A step is delivered, and never recorded."""
    return [(CellJournal, "record", _nothing)]


@mutant("recorded-first")
def records_are_not_awaited() -> Sequence[Patch]:
    """The guest receives an answer while its record is being written."""

    async def append(self: StateJournal, index: int, entry: Any) -> None:
        task = asyncio.ensure_future(_append(self, index, entry))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())

    return [(StateJournal, "append", append)]


@mutant("recorded-once", "same-order")
def replay_ends_early() -> Sequence[Patch]:
    """A replay leaves out the last recorded step."""

    def replay(self: CellJournal, asked: Any) -> Any:
        last = self._place >= len(self._steps) - 1
        return None if last else _replay(self, asked)

    return [(CellJournal, "replay", replay)]


@mutant("recorded-once")
def undelivered_answers_are_forgotten() -> Sequence[Patch]:
    """Answers that were recorded and not delivered are not read again."""
    return [(CellJournal, "undelivered", lambda self, asked: None)]


@mutant("same-order")
def answers_are_replayed_in_another_order() -> Sequence[Patch]:
    """A replayed step delivers its answers from the last to the first."""

    def read(entry: Any) -> Any:
        step = _read_step(entry)
        return attrs.evolve(step, settlements=step.settlements[::-1])

    return [(cell_journal, "read_step", read)]


@mutant("same-answer")
def errors_are_replayed_as_values() -> Sequence[Patch]:
    """A replayed step delivers null in the place of an error."""

    def read(entry: Any) -> Any:
        step = _read_step(entry)
        return attrs.evolve(
            step, settlements=tuple(Settlement(one.id, one.text) for one in step.settlements)
        )

    return [(cell_journal, "read_step", read)]


@mutant("window")
def calls_in_flight_are_forgotten() -> Sequence[Patch]:
    """A call that outlasts its time slice is made again by the next one."""
    return [(InFlightRegistry, "add", lambda self, key, call: None)]


@mutant("window")
def late_results_are_dropped() -> Sequence[Patch]:
    """A late result is neither recorded nor kept."""

    async def take(self: InFlightCalls, key: str, call: Any) -> None:
        self.in_flight.drop(key)

    return [(InFlightCalls, "_take", take)]


@mutant("window")
def answers_are_lost_at_a_suspension() -> Sequence[Patch]:
    """An answer that cannot be recorded at a suspension is lost: a defect that was found."""
    return [(InFlightRegistry, "keep_answers", lambda self, run, answers: None)]


@mutant("approved-first", "shown-first", "rejected-never")
def one_question_for_a_tool() -> Sequence[Patch]:
    """The id of a question names the tool alone, so a decision counts for all of its calls."""

    def of(cls: Any, call_key: str, tool: str, *given: Any) -> CallQuestion:
        made: CallQuestion = _of(cls, "", tool, {})
        return attrs.evolve(made, args=dict(given[0]))

    return [(CallQuestion, "of", classmethod(of))]


@mutant("budget-held")
def budgets_begin_anew_in_each_run() -> Sequence[Patch]:
    """Calls of earlier runs do not count."""
    return [
        (AccountGuard, "begin", lambda self, cell, record, *, resumed: None),
        (AccountGuard, "restored", lambda self, step, asked: None),
        (AccountGuard, "replayed", lambda self, bridge, request, settlement: None),
    ]


@mutant("one-holder")
def claims_are_given_to_everybody() -> Sequence[Patch]:
    """A store gives a claim that another process holds."""

    def claimed(self: Any, key: str, token: str, seconds: float, *, make: bool) -> Any:
        row = self._rows.get(key)
        if row is not None:
            row.until = 0.0
        return _claimed(self, key, token, seconds, make=make)

    return [(MemoryStore, "_claimed", claimed)]


@mutant("one-writer", "one-holder")
def old_tokens_are_accepted() -> Sequence[Patch]:
    """A store takes the writes of a process whose claim another process has taken over."""
    return [(MemoryStore, "_own", lambda self, key, token: self._rows[key])]


@mutant("log-kept", "same-run")
def logs_take_any_index() -> Sequence[Patch]:
    """A store appends entries without a look at their place."""

    def append(self: Any, key: str, token: str, index: int, entries: Sequence[str]) -> None:
        self._own(key, token).log.extend(entries)

    return [(MemoryStore, "append", append)]


_claimed = MemoryStore._claimed
