"""Pauses of one eval: its open questions, and the answers that resume it.

An answer counts only for the question that it was given for. An answer by id names that question. A
plain answer, which names none, belongs to what was shown: the interrupts that LangGraph had stored
when the answer was given. An eval records a pause before LangGraph stores its interrupt, and a run
may end in between: the stored interrupt is then the one of an earlier question. Such an eval asks
its question anew, and takes no plain answer for it. The eval's own records cannot tell: they have
the pause either way.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import attrs
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Interrupt

from interpstack import Request
from interpstack.checks import listed
from interpstack_durable.api import Journal, noted_in, reporting_damage
from interpstack_langchain.durability.checkpoint_writes import CheckpointWrites, recorded_notes
from interpstack_langchain.langgraph_internals.call_scopes import (
    Scope,
    answers_given,
    interrupts_shown,
    plain_answer,
    scope,
    stored_interrupts,
    take_plain_answer,
    without_answers,
)
from interpstack_langchain.langgraph_internals.task_writes import pairs
from interpstack_langchain.rules.approvals import ApprovalNeeded, UnfitAnswer, payload
from interpstack_langchain.rules.decisions import Editable, decisions
from interpstack_langchain.rules.pause_notes import read_decision, read_pause

__all__ = ["ANSWERED", "EvalPauses", "running_after"]

_log = logging.getLogger(__name__)
#: Message about an answer that contradicts the recorded one.
ANSWERED: Final = (
    "this question was already answered, and the first answer is final; the other answer was "
    "refused and changed nothing. Continue the thread with invoke(None)"
)

#: Ids of questions that a message lists.
_LISTED: Final = 10
#: In the place of an answer that the eval around has taken.
_TAKEN: Final = object()


@attrs.define(eq=False, repr=False)
class EvalPauses:
    """The pauses of one run of an eval.

    Attributes:
        config: Configuration of the task that runs the eval.
        writes: The checkpoint that the eval is recorded in.
        editable: Tools that a decision may name.
        returned: Notes a state update of a call, for `CheckpointStore.returned`.
        commands: The state updates so far, which `returned` adds to.
    """

    config: Mapping[str, Any]
    writes: CheckpointWrites
    editable: Editable
    returned: Callable[[int, Command[Any]], None]
    commands: Sequence[tuple[int, Command[Any]]] = ()
    _scopes: dict[int, Scope] = attrs.field(factory=dict, init=False)
    _given: dict[str, Any] = attrs.field(factory=dict, init=False)

    def scope_of(self, journal: Journal, request_id: int) -> Scope:
        """The scope that a call of this eval runs in."""
        found = self._scopes.get(request_id)
        if found is None:
            answers = journal.noted(f"answers {request_id}") or []
            found = self._scope(request_id, answers)
            self._scopes[request_id] = found
        return found

    def _scope(self, request_id: int, answers: list[Any]) -> Scope:
        name, given = f"call:{request_id}", self._given
        send = partial(_pushed, self.returned, request_id)
        held = partial(_held, self.commands)  # nothing of this object: a turn leaves no garbage
        return scope(self.config, name, answers, given, send, held, beside=True)

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

    async def take_answers(self, journal: Journal) -> None:
        """Take the answers to the questions of the last pause; see `Journal.resume`.

        A plain answer is cleared from the checkpoint whomever it is for, and before the eval makes
        a call: otherwise it would answer a question that the eval asks later.
        """
        number = journal.noted("pauses")
        with reporting_damage():
            self._given = dict(journal.noted("given") or {})
            if number is not None:
                self._check(journal, number)
        plain = plain_answer(self.config)
        try:
            if number is None:
                await self._refuse_second(journal, answers_given(self.config), (), ())
            else:
                await self._resume(journal, number, plain)
        finally:
            if plain is not None:
                await self.writes.take_plain_answer()

    def _check(self, journal: Journal, number: int) -> None:
        """Read the pauses and the decisions about the last one, before anything is done.

        Raises:
            UnreadableJournal: One of them is damaged.
        """
        if type(number) is not int or number < 1:
            raise ValueError("the number of a pause is malformed")
        pauses = [read_pause(journal.noted(f"pause {n + 1}")) for n in range(number)]
        for key in pauses[-1]["questions"]:
            read_decision(journal.noted(f"decision {key}"))

    async def _resume(self, journal: Journal, number: int, plain: Any) -> None:
        shown, answers = await self._shown(), answers_given(self.config)
        ours = [one for one in shown if one in self._asked(journal, number)]
        if plain is not None and ours:  # else it is for another task of the step
            take_plain_answer(self.config)
            if len(ours) == 1:  # with several, LangGraph requires ids
                answers.setdefault(ours[0], plain)
        resumed = journal.noted(f"resumed {number}")
        waiting = () if resumed else self._waiting(journal, number)
        await self._refuse_second(journal, answers, waiting, shown)
        if not resumed:
            await self._take_answers(journal, number, answers)
        elif self._given:
            await self._drop_used(journal.noted(f"pause {number}").get("owners", {}))

    async def _shown(self) -> Collection[str]:
        """The ids of the questions that were stored, and so shown, when this run began."""
        shown = interrupts_shown(self.config)
        if shown is None:
            checkpoint = self.writes.checkpoint
            stored = await self.writes.stored(checkpoint.root)
            shown = stored_interrupts(checkpoint.writes(stored))
        return shown

    def _asked(self, journal: Journal, number: int) -> Collection[str]:
        """The ids of all questions of the eval, up to the pause of this number."""
        numbers = range(1, number + 1)
        others = [one.id for n in numbers for one in journal.noted(f"pause {n}")["others"]]
        return {*others, *(self._question_id(n) for n in numbers)}

    async def _refuse_second(
        self,
        journal: Journal,
        answers: Mapping[str, Any],
        waiting: Sequence[Interrupt],
        shown: Collection[str],
    ) -> None:
        """Refuse an answer that contradicts the recorded answer to its question.

        The question may be one of another eval of the same message. That eval may have ended, and
        is not run again.

        Raises:
            GraphInterrupt: Another question waits that was not shown yet.
            UnfitAnswer: Nothing waits that was not shown.
        """
        ids = [one.id for one in waiting]
        given = {f"answered {key}": answer for key, answer in answers.items() if key not in ids}
        before = {name: [note] for name in given if (note := journal.noted(name)) is not None}
        if others := given.keys() - before.keys():
            before |= recorded_notes(others, await self.writes.read())
        for name, digests in before.items():
            if _digest(given[name]) in (*digests, ""):
                continue
            if any(one not in shown for one in ids):  # an error would keep them from being stored
                raise GraphInterrupt(tuple(waiting))
            raise UnfitAnswer(ANSWERED).asking(tuple(waiting))
        if waiting:
            self._refuse_unknown(given.keys() - before.keys(), answers, waiting, shown)

    def _refuse_unknown(
        self,
        unanswered: Iterable[str],
        answers: Mapping[str, Any],
        waiting: Sequence[Interrupt],
        shown: Collection[str],
    ) -> None:
        """Refuse a resume whose answers are all for questions that are no longer open.

        Beside an answer to an open question, which counts, the others are logged: an error would
        refuse that one, too.

        Raises:
            UnfitAnswer: No answer is for an open question, and one is for a question that this
                step never answered.
        """
        unknown = sorted({name.removeprefix("answered ") for name in unanswered} - {*shown})
        ids = [one.id for one in waiting]
        if not unknown or any(one not in shown for one in ids):  # the new question is shown first
            return
        if any(key in shown or key in ids for key in answers):
            _log.warning("answers to no open question had no effect: %s", ", ".join(unknown))
            return
        raise UnfitAnswer(
            f"the answer to {listed(unknown, _LISTED)} had no effect: that question is not open in "
            "this thread; its eval has ended, or was given up when a new message was sent, or the "
            "question was asked again under another id. Nothing was done. "
            f"Open: {listed(ids, _LISTED)}"
        ).asking(tuple(waiting))

    async def _take_answers(
        self, journal: Journal, number: int, answers: Mapping[str, Any]
    ) -> None:
        pause = journal.noted(f"pause {number}")
        waiting = [one.id for one in self._waiting(journal, number)]
        given = {key: answers[key] for key in waiting if key in answers}
        taken = {f"answered {key}": digest for key in given if (digest := _digest(given[key]))}
        notes: dict[str, Any] = {f"resumed {number}": True, **taken}
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
            self._given[asked] = _TAKEN
        if refused:  # this answer is not complete, and may be given again
            notes.pop(f"answered {asked}", None)
            await self._ask_again(journal, number, questions, notes)
        if questions or not (given or pause["questions"]):
            if given:
                await journal.note({"given": notes["given"], **taken})
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


def _held(commands: Sequence[tuple[int, Command[Any]]]) -> list[tuple[str, Any]]:
    """The writes that leave with an eval; until then, only its own calls see them."""
    mine = [command for _, command in list(commands) if command.graph is None]
    return [pair for command in mine for pair in pairs(command.update)]


def _pushed(
    returned: Callable[[int, Command[Any]], None], request_id: int, writes: Sequence[Any]
) -> None:
    """Note what a tool pushes to the graph, such as a UI message, as an update of its call."""
    if rest := without_answers(writes):
        returned(request_id, Command(update=rest))


def _digest(answer: Any) -> str:
    """Identifies an answer; empty for one that has no JSON form, which is not compared."""
    given = answer.get("decisions", answer) if isinstance(answer, Mapping) else answer
    try:
        text = json.dumps(given, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return ""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
