"""The first page: open questions of all conversations and runs, and the list of conversations."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import attrs

from interpstack import InterpstackError
from interpstack_inspect.contract.records import (
    Conversation,
    ConversationRow,
    Question,
    TokenUse,
)
from interpstack_inspect.contract.source import NotRecorded, RunSource
from interpstack_inspect.shown.texts import brief
from interpstack_workflows.api import WorkflowRecord

__all__ = ["FILTERS", "LISTED", "Listed", "ListedConversation", "Overview", "Waiting", "version_of"]

#: Filters of the list, with their names for people.
FILTERS: Final = {
    "": "All",
    "waits": "Waits for a person",
    "failed": "Failed",
    "expensive": "Most expensive first",
}
#: Conversations on a page of the list, and with questions on the first page.
LISTED: Final = 50
_QUESTIONS: Final = 20
#: Runs of workflows whose questions are looked for: the newest.
_RUNS: Final = 100
#: Conversations that a filter reads at once, and the seconds after which it reads no more of them.
_READ_AT_ONCE: Final = 100
_READ_SECONDS: Final = 5.0
#: Conversations whose facts are remembered.
_REMEMBERED: Final = 5_000
_TEXT_CHARS: Final = 120
_REASON_CHARS: Final = 300


@attrs.frozen(kw_only=True)
class _Facts:
    """What the list shows of a conversation, beside its row.

    Attributes:
        text: The beginning of its last input.
        turns: The number of its turns.
        use: Its tokens.
        failures: The number of its failures.
        reason: The reason of the last failure.
        questions: Its open questions that can be answered there.
        problem: The failure of the last run that an answer resumed.
    """

    text: str = ""
    turns: int = 0
    use: TokenUse = attrs.field(factory=TokenUse)
    failures: int = 0
    reason: str = ""
    questions: Sequence[Question] = ()
    problem: str = ""

    @classmethod
    def of(cls, found: Conversation) -> _Facts:
        """The facts of a conversation."""
        turns, failures = found.turns, found.failures
        is_asked_here = not found.resuming and not found.run
        return cls(
            text=brief(turns[-1].text.strip().partition("\n")[0], _TEXT_CHARS) if turns else "",
            turns=sum(1 for turn in turns if turn.number),
            use=found.use,
            failures=len(failures),
            reason=brief(failures[-1], _REASON_CHARS) if failures else "",
            questions=found.questions if is_asked_here else (),
            problem=found.problem,
        )


@attrs.frozen
class ListedConversation:
    """One line of the list: its row, and the facts that the page shows with it."""

    row: ConversationRow
    facts: _Facts


@attrs.frozen(kw_only=True)
class Listed:
    """A page of the list.

    Attributes:
        rows: The conversations.
        more: Whether others follow.
        read: How many conversations a filter has read; `None` where all are known.
        is_complete: Whether it has read all of them.
    """

    rows: Sequence[ListedConversation]
    more: bool = False
    read: int | None = None
    is_complete: bool = True


@attrs.frozen(kw_only=True)
class Waiting:
    """A conversation, or a run of a workflow, that waits for a person.

    Attributes:
        name: The name of the conversation, or the id of the run.
        workflow: The name of the workflow; empty for a conversation.
        since: The time of the last step, in ISO 8601 or in seconds since 1970.
        questions: Its open questions.
        problem: The failure of the last run that an answer resumed.
    """

    name: str
    workflow: str = ""
    since: str | float
    questions: Sequence[Question]
    problem: str = ""

    @property
    def is_run(self) -> bool:
        """Whether it is a run of a workflow."""
        return isinstance(self.since, float)


class Overview:
    """Reads a source for the first page, each conversation again only after it has changed.

    Args:
        source: The source.
    """

    def __init__(self, source: RunSource) -> None:
        self._source = source
        self._known: OrderedDict[str, tuple[str, _Facts]] = OrderedDict()

    async def listed(self, *, containing: str, only: str, skip: int) -> Listed:
        """A page of the list.

        Args:
            containing: Only conversations with this text in their names.
            only: One of `FILTERS`.
            skip: Number of conversations to leave out at the beginning.
        """
        if only in ("failed", "expensive"):
            return await self._filtered(containing, only)
        rows = await self._source.conversations(
            containing=containing, waiting=only == "waits", limit=LISTED + 1, skip=skip
        )
        return Listed(rows=await self._with_facts(rows[:LISTED]), more=len(rows) > LISTED)

    async def _filtered(self, containing: str, only: str) -> Listed:
        """The conversations that fit a filter, among those that can be read in some seconds."""
        until = time.monotonic() + _READ_SECONDS
        found: list[ListedConversation] = []
        read, is_complete = 0, False
        while not is_complete and time.monotonic() < until:
            rows = await self._source.conversations(
                containing=containing, limit=_READ_AT_ONCE, skip=read
            )
            read, is_complete = read + len(rows), len(rows) < _READ_AT_ONCE
            found += [one for one in await self._with_facts(rows) if _fits(one.facts, only)]
        if only == "expensive":
            found.sort(key=lambda one: (one.facts.use.cost or 0.0, one.facts.use.tokens))
            found.reverse()
        return Listed(
            rows=found[:LISTED], more=len(found) > LISTED, read=read, is_complete=is_complete
        )

    async def waiting(self) -> tuple[Sequence[Waiting], bool]:
        """Open questions, the oldest first, and whether there are more than those."""
        rows = await self._source.conversations(waiting=True, limit=_QUESTIONS + 1)
        found = [
            Waiting(
                name=one.row.name,
                since=one.row.changed,
                questions=one.facts.questions,
                problem=one.facts.problem,
            )
            for one in await self._with_facts(rows[:_QUESTIONS])
            if one.facts.questions
        ]
        runs = [run for run in await self._source.workflows(_RUNS) if _may_ask(run)]
        for run in runs[:_QUESTIONS]:
            if questions := await self._run_questions(run):
                since = float(run.updated)
                found.append(
                    Waiting(name=run.id, workflow=run.name, since=since, questions=questions)
                )
        return found[::-1], max(len(rows), len(runs)) > _QUESTIONS

    async def _run_questions(self, run: WorkflowRecord) -> Sequence[Question]:
        try:
            return await self._source.run_questions(run.id)
        except NotRecorded:
            return ()  # it was deleted meanwhile

    async def version(self) -> str:
        """A text that changes with the open questions."""
        return version_of((await self.waiting())[0])

    async def _with_facts(self, rows: Sequence[ConversationRow]) -> list[ListedConversation]:
        facts = await asyncio.gather(*map(self._facts, rows))
        return [ListedConversation(row, one) for row, one in zip(rows, facts, strict=True)]

    async def _facts(self, row: ConversationRow) -> _Facts:
        version, facts = self._known.get(row.name, ("", _Facts()))
        if version != row.version:
            try:
                facts = _Facts.of(await self._source.conversation(row.name))
            except InterpstackError as error:  # the others can be read
                return _Facts(failures=1, reason=brief(str(error), _REASON_CHARS))
            self._known[row.name] = (row.version, facts)
        self._known.move_to_end(row.name)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return facts


def version_of(waiting: Sequence[Waiting]) -> str:
    """A text that is another one for other questions."""
    asked = [(one.name, one.problem, [each.digest for each in one.questions]) for one in waiting]
    return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _fits(facts: _Facts, only: str) -> bool:
    if only == "failed":
        return facts.failures > 0
    return facts.use.tokens > 0 or bool(facts.use.cost)


def _may_ask(run: WorkflowRecord) -> bool:
    """Whether a run may have a question: one that waits says so, one at work may come to one."""
    kinds = {wait.get("kind") for wait in run.waiting_for}
    return run.status == "running" or (
        run.status == "waiting" and bool(kinds & {"ask", "approval"})
    )
