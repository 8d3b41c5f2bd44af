"""Pauses of one eval: one interrupt for all questions, and answers that reach their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from graph_tasks import Notes, task_config
from langchain_core.tools import tool
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from interpstack import Request
from interpstack_durable.api import UnreadableJournal
from interpstack_langchain.durability.eval_pauses import EvalPauses, running_after
from interpstack_langchain.langgraph_internals.call_scopes import take_plain_answer
from interpstack_langchain.rules.approvals import ApprovalNeeded, UnfitAnswer
from interpstack_langchain.rules.decisions import Editable

APPROVE = {"type": "approve"}


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return to


class Checkpoint:
    """The checkpoints of subagents, of which some have taken answers."""

    def __init__(self, answered: Sequence[str]) -> None:
        self.answered = answered

    def within(self, inner: Any) -> str:
        return str(inner.name)

    def has_answers(self, found: str) -> bool:
        return found in self.answered


class Writes:
    """The checkpoint of a step: counts plain answers that were taken."""

    def __init__(self, answered: Sequence[str] = ()) -> None:
        self.taken = 0
        self.checkpoint = Checkpoint(answered)

    async def take_plain_answer(self) -> None:
        self.taken += 1

    async def stored(self, config: Any) -> Any:
        return config

    async def read(self) -> list[Any]:
        return []


def question(to: str) -> dict[str, Any]:
    action = {"name": "pay", "args": {"to": to}}
    review = {"action_name": "pay", "allowed_decisions": ["approve", "reject"]}
    return {"digest": to, "payload": {"action_requests": [action], "review_configs": [review]}}


def request(number: int) -> Request:
    return Request(id=number, bridge="tools.pay", wire=[{}])


def approval(number: int, to: str) -> tuple[Request, BaseException]:
    return request(number), ApprovalNeeded(question(to))


def asking(number: int, name: str) -> tuple[Request, BaseException]:
    return request(number), GraphInterrupt((Interrupt(f"{name}?", id=name),))


def leave(running: Sequence[Request]) -> list[dict[str, Any]]:
    return [{"name": one.bridge, "input": "{}"} for one in running]


EDITABLE = Editable(own=[], agent=[pay], eval_name="eval")


def ignored(request_id: int, command: Any) -> None:
    """Takes state updates of calls."""


def pauses(writes: Writes | None = None, **options: Any) -> EvalPauses:
    return EvalPauses(task_config(**options), writes or Writes(), EDITABLE, ignored)  # type: ignore[arg-type]


async def paused(*asked: tuple[Request, BaseException]) -> tuple[Notes, Sequence[Interrupt]]:
    """The notes of an eval that was paused, and its questions."""
    notes = Notes()
    error = await pauses().pause(notes, asked, (), leave)  # type: ignore[arg-type]
    assert isinstance(error, GraphInterrupt)
    return notes, error.args[0]


async def resume(notes: Notes, **options: Any) -> Sequence[Interrupt]:
    """Resume a paused eval, whose open questions were shown; returns those that are still open."""
    if "plain" in options and "shown" not in options:
        open_now = await resume(Notes(dict(notes.values)))
        options["shown"] = [one.id for one in open_now]
    try:
        await pauses(**options).take_answers(notes)  # type: ignore[arg-type]
    except GraphInterrupt as open_:
        found: Sequence[Interrupt] = open_.args[0]
        return found
    return ()


def named(interrupt: Interrupt) -> list[str]:
    return [one["args"]["to"] for one in interrupt.value["action_requests"]]


# -- pauses --------------------------------------------------------------------------------


async def test_approvals_are_one_question_and_each_other_question_is_its_own() -> None:
    notes, (first, *others) = await paused(approval(1, "Ann"), asking(2, "when"), approval(3, "Bo"))
    assert named(first) == ["Ann", "Bo"]
    assert [one.id for one in others] == ["when"]
    pause = notes.noted("pause 1")
    assert (list(pause["questions"]), pause["owners"]) == (["1", "3"], {"when": 2})


async def test_the_same_pause_has_the_same_ids_in_every_run() -> None:
    (_, (one,)), (_, (other,)) = await paused(approval(1, "Ann")), await paused(approval(1, "Ann"))
    assert one.id == other.id
    notes, _ = await paused(approval(1, "Ann"))
    later = await pauses().pause(notes, [approval(1, "Ann")], (), leave)  # type: ignore[arg-type]
    assert later.args[0][0].id != one.id
    assert notes.noted("pauses") == 2


async def test_calls_that_still_run_are_shown_to_the_person_who_decides() -> None:
    notes = Notes()
    error = await pauses().pause(notes, [approval(1, "Ann")], [request(7)], leave)  # type: ignore[arg-type]
    running = [{"name": "tools.pay", "input": "{}"}]
    assert error.args[0][0].value["still_running"] == running
    assert notes.noted("pause 1")["running"] == running


async def test_another_exception_leaves_the_eval_alone_and_notes_nothing() -> None:
    notes, lost = Notes(), RuntimeError("the graph is over")
    asked = [approval(1, "Ann"), (request(2), lost)]
    assert await pauses().pause(notes, asked, (), leave) is lost  # type: ignore[arg-type]
    assert notes.values == {}


async def test_a_damaged_pause_is_refused_before_its_answer_is_taken() -> None:
    notes, (asked,) = await paused(approval(1, "Ann"))
    notes.values["pause 1"]["questions"]["1"].pop("digest")
    writes, before = Writes(), dict(notes.values)
    with pytest.raises(UnreadableJournal, match="damaged"):
        await resume(notes, writes=writes, answers={asked.id: {"decisions": [APPROVE]}})
    assert (notes.values, writes.taken) == (before, 0)


@pytest.mark.parametrize(
    ("key", "value"), [("pauses", "x"), ("pauses", []), ("pauses", -1), ("given", 5)]
)
async def test_damaged_notes_are_refused(key: str, value: Any) -> None:
    notes, (asked,) = await paused(approval(1, "Ann"))
    notes.values[key] = value
    with pytest.raises(UnreadableJournal, match="the journal of this eval is damaged"):
        await resume(notes, answers={asked.id: {"decisions": [APPROVE]}})


async def test_an_answer_that_a_call_refused_opens_its_question_again() -> None:
    notes, _ = await paused(asking(2, "ignored"))
    made = pauses()
    inner = made.scope_of(notes, 2)  # type: ignore[arg-type]
    own = inner.id
    notes.values["pause 1"]["others"] = [Interrupt("when?", id=own)]
    inner.answers.append("never")
    inner.answers.append("on Monday")
    inner.answers.pop(0)
    error = await made.pause(notes, [(request(2), UnfitAnswer("no date"))], (), leave)  # type: ignore[arg-type]
    assert isinstance(error, UnfitAnswer)
    assert [one.id for one in error.waiting] == [own]
    assert inner.answers == []


async def test_a_call_has_one_scope_with_its_earlier_answers() -> None:
    notes = Notes({"answers 2": ["Monday"]})
    made = pauses()
    found = made.scope_of(notes, 2)  # type: ignore[arg-type]
    assert found.answers == ["Monday"]
    assert made.scope_of(notes, 2) is found  # type: ignore[arg-type]
    assert made.scope_of(notes, 3).id != found.id  # type: ignore[arg-type]


# -- answers -------------------------------------------------------------------------------


async def test_an_eval_that_was_never_paused_takes_no_answer_and_clears_it_for_later() -> None:
    """Stored, it would answer the first question of this eval, which comes after it."""
    writes, notes = Writes(), Notes()
    config = task_config("for somebody else", shown=["another task's"])
    await EvalPauses(config, writes, EDITABLE, ignored).take_answers(notes)  # type: ignore[arg-type]
    assert (writes.taken, notes.values) == (1, {})
    assert take_plain_answer(config) == "for somebody else"


async def test_a_plain_answer_decides_on_the_only_question() -> None:
    notes, _ = await paused(approval(1, "Ann"), approval(3, "Bo"))
    writes = Writes()
    answer = {"decisions": [APPROVE, {"type": "reject", "message": "no"}]}
    assert await resume(notes, writes=writes, plain=answer) == ()
    assert notes.noted("resumed 1") is True
    assert [notes.noted(f"decision {n}")["type"] for n in (1, 3)] == ["approve", "reject"]
    assert writes.taken == 1


@pytest.mark.parametrize("shown", ["nothing", "the question before"])
async def test_a_plain_answer_does_not_count_for_a_question_that_was_not_shown(shown: str) -> None:
    """The run ended after the eval recorded its pause and before LangGraph stored the interrupt."""
    notes, (first,) = await paused(approval(1, "Ann"))
    assert await resume(notes, plain={"decisions": [APPROVE]}) == ()
    later = await pauses().pause(notes, [approval(2, "Bo")], (), leave)  # type: ignore[arg-type]
    ids = [] if shown == "nothing" else [first.id]
    writes = Writes()
    still = await resume(notes, writes=writes, plain={"decisions": [APPROVE]}, shown=ids)
    assert [one.id for one in still] == [later.args[0][0].id]
    assert notes.noted("decision 2") is None
    assert writes.taken == 1, "it must not be taken by anything else either"
    assert await resume(notes, plain={"decisions": [APPROVE]}) == ()
    assert notes.noted("decision 2")["type"] == "approve"


async def test_a_question_that_was_not_shown_is_asked_although_the_number_of_answers_differs() -> (
    None
):
    notes, (first,) = await paused(approval(1, "Ann"))
    assert await resume(notes, plain={"decisions": [APPROVE]}) == ()
    await pauses().pause(notes, [approval(2, "Bo"), approval(3, "Cy")], (), leave)  # type: ignore[arg-type]
    (again,) = await resume(notes, plain={"decisions": [APPROVE]}, shown=[first.id])
    assert named(again) == ["Bo", "Cy"]


async def test_a_plain_answer_does_not_count_for_a_tools_question_that_was_not_shown() -> None:
    notes, _ = await paused(asking(1, "first"))
    assert await resume(notes, plain="Monday") == ()
    await pauses().pause(notes, [asking(2, "second")], (), leave)  # type: ignore[arg-type]
    still = await resume(notes, plain="Monday", shown=["first"])
    assert [one.id for one in still] == ["second"]
    assert await resume(notes, plain="Friday") == ()
    assert notes.noted("given") == {"second": "Friday"}


async def test_an_answer_by_id_counts_although_a_plain_one_was_left_from_an_earlier_run() -> None:
    notes, (asked,) = await paused(approval(1, "Ann"))
    reject = {"decisions": [{"type": "reject"}]}
    approve = {"decisions": [APPROVE]}
    assert await resume(notes, plain=approve, answers={asked.id: reject}) == ()
    assert notes.noted("decision 1")["type"] == "reject"


@pytest.mark.parametrize("plain", [False, True])
async def test_a_second_answer_that_contradicts_the_first_is_refused(plain: bool) -> None:
    notes, (asked,) = await paused(approval(1, "Ann"))
    approve, reject = {"decisions": [APPROVE]}, {"decisions": [{"type": "reject"}]}

    def given(answer: Any) -> dict[str, Any]:
        return {"plain": answer, "shown": [asked.id]} if plain else {"answers": {asked.id: answer}}

    assert await resume(notes, **given(approve)) == ()
    assert await resume(notes, **given(approve)) == (), "the same answer again"
    with pytest.raises(UnfitAnswer, match="this question was already answered"):
        await resume(notes, **given(reject))
    assert notes.noted("decision 1")["type"] == "approve"


async def test_a_second_answer_to_a_tools_question_is_refused_if_it_contradicts_the_first() -> None:
    notes, _ = await paused(asking(1, "when"))
    assert await resume(notes, answers={"when": "Monday"}) == ()
    assert await resume(notes, answers={"when": "Monday"}) == ()
    with pytest.raises(UnfitAnswer, match="this question was already answered"):
        await resume(notes, answers={"when": "Friday"})


@pytest.mark.parametrize("seen", [False, True])
async def test_a_contradicting_answer_leaves_the_next_question_open(seen: bool) -> None:
    """An error would leave a question that was not stored yet without an interrupt."""
    notes, (first,) = await paused(approval(1, "Ann"))
    assert await resume(notes, answers={first.id: {"decisions": [APPROVE]}}) == ()
    later = await pauses().pause(notes, [approval(2, "Bo")], (), leave)  # type: ignore[arg-type]
    (asked,) = later.args[0]
    options: Any = {"answers": {first.id: {"decisions": [{"type": "reject"}]}}}
    if seen:
        with pytest.raises(UnfitAnswer, match="already answered") as raised:
            await resume(notes, **options, shown=[asked.id])
        assert [one.id for one in raised.value.waiting] == [asked.id]
    else:
        still = await resume(notes, **options, shown=[first.id])
        assert [one.id for one in still] == [asked.id]
    assert notes.noted("decision 2") is None


async def test_with_several_questions_answers_need_their_ids() -> None:
    notes, (first, second) = await paused(approval(1, "Ann"), asking(2, "when"))
    still = await resume(notes, plain={"decisions": [APPROVE]})
    assert [one.id for one in still] == [first.id, second.id]
    answers = {first.id: {"decisions": [APPROVE]}, "when": "Monday"}
    assert await resume(notes, answers=answers) == ()
    assert notes.noted("decision 1")["type"] == "approve"
    assert notes.noted("given")["when"] == "Monday"


async def test_a_call_whose_question_is_not_answered_asks_again_itself() -> None:
    notes, _ = await paused(asking(1, "when"), asking(2, "where"))
    assert await resume(notes, answers={"where": "here"}) == ()
    assert notes.noted("resumed 1") is True
    assert notes.noted("given") == {"where": "here"}


async def test_an_answer_is_kept_until_the_approvals_beside_it_are_decided() -> None:
    notes, (asked, _) = await paused(approval(1, "Ann"), asking(2, "when"))
    still = await resume(notes, answers={"when": "Monday"})
    assert [one.id for one in still] == [asked.id]
    assert notes.noted("resumed 1") is None
    assert await resume(notes, plain={"decisions": [APPROVE]}) == ()
    assert notes.noted("given")["when"] == "Monday"


async def test_a_wrong_answer_keeps_its_question_open() -> None:
    notes, (asked,) = await paused(approval(1, "Ann"))
    before = dict(notes.values)
    with pytest.raises(UnfitAnswer, match="pay can be decided with approve, reject") as raised:
        await resume(notes, plain={"decisions": [{"type": "edit"}]})
    assert [one.id for one in raised.value.waiting] == [asked.id]
    assert notes.values == before


async def test_one_wrong_decision_of_several_is_asked_for_again_alone() -> None:
    notes, (asked,) = await paused(approval(1, "Ann"), approval(3, "Bo"))
    (again,) = await resume(notes, plain={"decisions": [APPROVE, {"type": "edit"}]})
    assert named(again) == ["Bo"]
    assert again.id != asked.id
    assert "pay can be decided with" in again.value["refused"][0]
    assert (notes.noted("decision 1")["type"], notes.noted("decision 3")) == ("approve", None)
    assert await resume(notes, plain={"decisions": [APPROVE]}) == ()
    assert notes.noted("decision 3")["type"] == "approve"


async def test_a_pause_that_asks_nothing_is_answered_by_being_resumed() -> None:
    notes, waiting = await paused((request(1), GraphInterrupt(())))
    assert waiting == ()
    assert await resume(notes) == ()
    assert notes.noted("resumed 1") is True


@pytest.mark.parametrize(("answered", "left"), [(["call:2"], {"where": "2"}), ([], None)])
async def test_answers_that_a_subagent_took_before_a_crash_are_forgotten(
    answered: list[str], left: Mapping[str, Any] | None
) -> None:
    notes, _ = await paused(asking(2, "when"), asking(3, "where"))
    given = {"when": "1", "where": "2"}
    assert await resume(notes, answers=given) == ()
    again = pauses(Writes(answered))
    await again.take_answers(notes)  # type: ignore[arg-type]
    assert again.scope_of(notes, 9).configurable["__pregel_resume_map"] == (left or given)  # type: ignore[arg-type]


def test_calls_left_running_are_those_of_the_last_pause_if_it_is_open() -> None:
    running = [{"name": "tools.pay", "input": "{}"}]
    first = {"notes": {"pauses": 1, "pause 1": {"running": running}}}
    assert running_after([first]) == running
    assert running_after([first, {"notes": {"resumed 1": True}}]) == ()
    assert running_after([first, {"notes": {"pauses": 2, "pause 2": {}}}]) == ()
    assert running_after([]) == ()
