"""Planted faults in the LangChain adapter: approvals, locks, and records among checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.model.mutants import Patch, mutant

from interpstack_durable.cell_journal import CellJournal
from interpstack_durable.entries import header
from interpstack_langchain.durability import checkpoint_stores
from interpstack_langchain.durability.checkpoint_stores import CheckpointStore
from interpstack_langchain.durability.databases import Database
from interpstack_langchain.durability.eval_pauses import EvalPauses
from interpstack_langchain.langgraph_internals.call_scopes import answers_given, take_plain_answer
from interpstack_langchain.rules import approvals
from interpstack_langchain.rules.approvals import Approvals

_call_after = approvals.call_after
_question = Approvals.question
_keep = CheckpointStore._keep
_sound_entries = checkpoint_stores.sound_entries


@mutant("shown-first", "approved-first", world="agents")
def plain_answers_count_for_unseen_questions() -> Sequence[Patch]:
    """An answer without an id counts for the waiting question, whatever was shown."""

    async def resume(self: EvalPauses, journal: Any, number: int, plain: Any) -> None:
        answers = answers_given(self.config)
        waiting = [one.id for one in self._waiting(journal, number)]
        resumed = journal.noted(f"resumed {number}")
        if plain is not None and len(waiting) == 1 and not resumed:
            take_plain_answer(self.config)
            answers.setdefault(waiting[0], plain)
        if not resumed:
            await self._take_answers(journal, number, answers)

    return [(EvalPauses, "_resume", resume)]


@mutant("approved-first", "shown-first", world="agents")
def a_rule_asks_once_for_a_tool() -> Sequence[Patch]:
    """After one decision, other calls of the tool are made without one."""
    asked: set[str] = set()

    def question(self: Approvals, call: Any, running: Any, decision: Any = None) -> Any:
        found = _question(self, call, running, decision)
        if call["name"] in asked and call["id"] not in asked:
            return None
        asked.update([call["name"], call["id"]] if found is not None else [])
        return found

    return [(Approvals, "question", question)]


@mutant("rejected-never", world="agents")
def rejections_count_as_approvals() -> Sequence[Patch]:
    """A call is made although a person rejected it."""

    def after(decision: Any, call: Any) -> Any:
        return _call_after({**decision, "type": "approve"}, call)

    return [(approvals, "call_after", after)]


@mutant("recorded-first", world="agents")
def checkpoint_writes_are_not_awaited() -> Sequence[Patch]:
    """The guest receives an answer while the checkpointer writes its record."""

    async def keep(self: CheckpointStore, index: int, entry: Any) -> None:
        task = asyncio.ensure_future(_keep(self, index, entry))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())

    return [(CheckpointStore, "_keep", keep)]


@mutant("window", "recorded-once", "log-kept", world="agents")
def evals_are_not_locked() -> Sequence[Patch]:
    """Two processes run one eval at the same time."""

    @asynccontextmanager
    async def alone(self: Database, key: str, *given: Any) -> AsyncIterator[bool]:
        yield True

    return [(Database, "alone", alone)]


@mutant("recorded-once", "log-kept", world="agents")
def the_last_entry_is_not_read() -> Sequence[Patch]:
    """Another process does not read the last entry of a journal."""

    def read(key: str, writes: Any) -> Any:
        return _sound_entries(key, writes)[:-1]

    return [(checkpoint_stores, "sound_entries", read)]


@mutant("log-kept", world="agents")
def entries_take_the_place_of_others() -> Sequence[Patch]:
    """An entry is written where one is whose acknowledgement was lost: a defect that was found."""

    async def append(self: CellJournal, entry: dict[str, Any]) -> None:
        first = {} if self._count else header(self._cell, self._began)
        step, self._unwritten = self._unwritten, {}
        await self._store.append(self._count, {**first, **step, **entry})
        self._count += 1

    return [(CellJournal, "_append", append)]
