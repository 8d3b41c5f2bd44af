"""Pauses of one eval: its open questions, and the answers that resume it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from interpstack import Request
from interpstack_durable.api import Journal, damage_told, noted_in
from interpstack_langchain.durability.checkpoint_writes import CheckpointWrites
from interpstack_langchain.langgraph_internals.call_scopes import (
    Scope,
    answers_given,
    scope,
    sender,
    take_plain_answer,
)
from interpstack_langchain.rules.approvals import ApprovalNeeded, UnfitAnswer, payload
from interpstack_langchain.rules.decisions import Editable, decisions
from interpstack_langchain.rules.noted import read_decision, read_pause

__all__ = ["CALLS_BESIDE", "EvalPauses", "running_after"]

#: Key of a journal's first entry: the scopes of its calls are beside the eval's task, see `scope`.
CALLS_BESIDE: Final = "beside"


@attrs.define(eq=False, repr=False)
class EvalPauses:
    """The pauses of one run of an eval.

    Attributes:
        config: Configuration of the task that runs the eval.
        writes: The checkpoint that the eval is recorded in.
        editable: Tools that a decision may name.
    """

    config: Mapping[str, Any]
    writes: CheckpointWrites
    editable: Editable
    _beside: bool = attrs.field(default=True, init=False)
    _known: int = attrs.field(default=0, init=False)
    _scopes: dict[int, Scope] = attrs.field(factory=dict, init=False)
    _given: dict[str, Any] = attrs.field(factory=dict, init=False)
    _send: Callable[[Any], None] | None = attrs.field(default=None, init=False)

    def answered(self, asked: Sequence[Mapping[str, Any]]) -> None:
        """Note the entries that were there when this run was asked for: it answers their pause."""
        self._known = max(noted_in(asked, "pauses"), default=0)

    def continues(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Note the entries of the eval's earlier runs: its calls keep the scopes they had."""
        self._beside = not entries or bool(entries[0].get(CALLS_BESIDE))

    def scope_of(self, journal: Journal, request_id: int) -> Scope:
        """The scope that a call of this eval runs in."""
        found = self._scopes.get(request_id)
        if found is None:
            answers = journal.noted(f"answers {request_id}") or []
            self._send = self._send or sender(self.config)
            found = self._scope(request_id, answers)
            self._scopes[request_id] = found
        return found

    def _scope(self, request_id: int, answers: list[Any]) -> Scope:
        name, given, send = f"call:{request_id}", self._given, self._send
        return scope(self.config, name, answers, given, send, beside=self._beside)

    async def pause(
        self,
        journal: Journal,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
        leave: Callable[[Sequence[Request]], list[dict[str, Any]]],
    ) -> BaseException:
        """Record the questions that the eval waits for, and combine them into one interrupt.

        Args:
            journal: The journal of the eval.
            paused: The requests that wait, with the exceptions that ask the questions.
            running: The calls that still run.
            leave: Leaves these calls running; returns their description.
        """
        known = (GraphInterrupt, ApprovalNeeded, UnfitAnswer)
        other = next((e for _, e in paused if not isinstance(e, known)), None)
        if other is not None:
            return other
        number = (journal.noted("pauses") or 0) + 1
        questions = {str(r.id): e.question for r, e in paused if isinstance(e, ApprovalNeeded)}
        raised = [(r.id, one) for r, e in paused for one in self._interrupts(journal, r.id, e)]
        owners = {one.id: request_id for request_id, one in raised}
        others = [one for _, one in raised]
        pause: dict[str, Any] = {"questions": questions, "others": others, "owners": owners}
        if running:
            pause["running"] = leave(running)
        notes = {
            "pauses": number,
            f"pause {number}": pause,
            "given": {},  # earlier answers have reached their questions
            **{f"answers {key}": s.answers for key, s in self._scopes.items() if s.answers},
        }
        await journal.note(notes)
        waiting = self._waiting(journal, number)
        unfit = next((e for _, e in paused if isinstance(e, UnfitAnswer)), None)
        return GraphInterrupt(waiting) if unfit is None else unfit.asking(waiting)

    async def resume(self, journal: Journal) -> None:
        """Take the answers to the questions of the last pause; see `Journal.resume`."""
        number = journal.noted("pauses")
        with damage_told():
            self._given = dict(journal.noted("given") or {})
            if number is None:
                return
            self._check(journal, number)
        plain = take_plain_answer(self.config)
        try:
            if not journal.noted(f"resumed {number}"):
                await self._take_answers(journal, number, plain)
            elif self._given:
                await self._drop_used(journal.noted(f"pause {number}").get("owners", {}))
        finally:
            if plain is not None:
                await self.writes.take_plain_answer()

    def _check(self, journal: Journal, number: int) -> None:
        """Read the last pause and the decisions about its questions, before anything is done.

        Raises:
            UnreadableJournal: One of them is damaged.
        """
        if type(number) is not int or number < 1:
            raise ValueError("the number of a pause has another form")
        for key in read_pause(journal.noted(f"pause {number}"))["questions"]:
            read_decision(journal.noted(f"decision {key}"))

    async def _take_answers(self, journal: Journal, number: int, plain: Any) -> None:
        pause = journal.noted(f"pause {number}")
        waiting = [one.id for one in self._waiting(journal, number)]
        answers = answers_given(self.config)
        # With several, LangGraph requires ids; a later question is another one.
        if plain is not None and len(waiting) == 1 and number == self._known:
            answers[waiting[0]] = plain
        given = {key: answers[key] for key in waiting if key in answers}
        notes: dict[str, Any] = {f"resumed {number}": True}
        if not waiting:  # a break in a subagent's graph asks nothing: to be resumed is its answer
            await journal.note(notes)
            return
        questions, asked = pause["questions"], self._question_id(number)
        refused: Mapping[str, str] = {}
        if asked in given:
            found = decisions(questions, given.pop(asked), self.editable)
            refused = found.refused
            if refused and len(answers) == 1 and not found.made:
                raise UnfitAnswer(_first(refused)).asking(self._waiting(journal, number))
            notes |= {f"decision {key}": decision for key, decision in found.made.items()}
            questions = {key: {**questions[key], "refused": why} for key, why in refused.items()}
        self._given |= given
        notes["given"] = dict(self._given)
        if asked in answers:  # evals of its calls see that this resume answers more questions
            self._given[asked] = True
        if refused:
            await self._ask_again(journal, number, questions, notes)
        if questions or not (given or pause["questions"]):
            if given:
                await journal.note({"given": notes["given"]})
            raise GraphInterrupt(self._waiting(journal, number))
        await journal.note(notes)

    async def _ask_again(
        self,
        journal: Journal,
        number: int,
        questions: Mapping[str, Mapping[str, Any]],
        notes: Mapping[str, Any],
    ) -> None:
        """Pause anew for the decisions that were refused: the same resume made others.

        Nothing of those is lost, and no call is made before the last decision. An error would end
        other evals whose questions this resume answers.

        Raises:
            GraphInterrupt: Always.
        """
        pause = {**journal.noted(f"pause {number}"), "questions": questions}
        pause["others"] = [one for one in pause["others"] if one.id not in self._given]
        await journal.note({**notes, "pauses": number + 1, f"pause {number + 1}": pause})
        raise GraphInterrupt(self._waiting(journal, number + 1))

    async def _drop_used(self, owners: Mapping[str, int]) -> None:
        """Forget answers that subagents took before the process died.

        A subagent whose next question is stored has its earlier answers in its own checkpoint.
        LangGraph would use an answer by id for the next question as well.
        """
        for key in [key for key in self._given if key in owners]:
            call = self._scope(owners[key], [])
            checkpoint = self.writes.checkpoint
            if checkpoint.has_answers(await self.writes.stored(checkpoint.within(call))):
                del self._given[key]

    def _waiting(self, journal: Journal, number: int) -> tuple[Interrupt, ...]:
        """The unanswered questions of a pause."""
        pause = journal.noted(f"pause {number}")
        given = journal.noted("given") or {}
        asked: list[Interrupt] = []
        if pause["questions"]:
            question = payload(pause["questions"], pause.get("running", ()))
            asked.append(Interrupt(question, self._question_id(number)))
        return (*asked, *(one for one in pause["others"] if one.id not in given))

    def _interrupts(
        self, journal: Journal, request_id: int, error: BaseException
    ) -> Sequence[Interrupt]:
        """The questions that a paused call waits for."""
        if isinstance(error, UnfitAnswer):
            return error.waiting or self._reopened(journal, request_id)
        return error.args[0] if isinstance(error, GraphInterrupt) and error.args else ()

    def _reopened(self, journal: Journal, request_id: int) -> Sequence[Interrupt]:
        """The last question of a call, without the answer that the call refused."""
        asked = self._scopes.get(request_id)
        if asked is None or not asked.answers:
            return ()
        asked.answers.pop()
        pause = journal.noted(f"pause {journal.noted('pauses')}") or {"others": ()}
        return [one for one in pause["others"] if one.id == asked.id]

    def _question_id(self, number: int) -> str:
        return scope(self.config, f"approval:{number}", []).id


def running_after(entries: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Descriptions of the calls that the last pause of an eval left running."""
    number = max(noted_in(entries, "pauses"), default=0)
    pauses = noted_in(entries, f"pause {number}")
    resumed = noted_in(entries, f"resumed {number}")
    return pauses[-1].get("running", ()) if pauses and not resumed else ()


def _first(reasons: Mapping[str, str]) -> str:
    return next(iter(reasons.values()))
