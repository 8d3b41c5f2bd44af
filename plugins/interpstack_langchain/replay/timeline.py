"""The timeline of an eval from its journal: calls, pauses and decisions, in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from interpstack import Settlement
from interpstack_agents import readable_wire
from interpstack_durable.api import RecordedRequest, read_cell, reporting_damage
from interpstack_inspect.api import Computing, InnerCall, PauseEvent

__all__ = ["RecordedCall", "Timeline", "offered_in", "read_timeline"]


@attrs.define(kw_only=True)
class RecordedCall:
    """One call of the guest.

    Attributes:
        id: The guest's id of the call.
        bridge: The called bridge; `timer` and `module` are the guest's waits and imports.
        input: The start of the input, as JSON.
        asked: Seconds from the beginning of the eval to the request; to the step before it in
            records of earlier releases, which have no time of the request.
        step: The step that delivered the answer, from 1; `None` if it was never delivered.
        answered: Seconds from the beginning of the eval to that step.
        answer: The value, as JSON, or the error.
        failed: Whether it was answered with an error.
        kept: Whether the call has ended, but the record ends before the guest received its answer.
        decisions: Decisions and answers of people.
    """

    id: int
    bridge: str
    input: str
    asked: float
    step: int | None = None
    answered: float | None = None
    answer: str = ""
    failed: bool = False
    kept: bool = False
    decisions: Sequence[str] = ()

    def shown(self) -> InnerCall:
        """The call as pages show it."""
        ended = self.answered is not None or self.kept
        return InnerCall(
            id=self.id,
            bridge=self.bridge,
            input=self.input,
            asked=self.asked,
            answered=self.answered,
            answer=self.answer if ended else None,
            failed=self.failed,
            decisions=tuple(self.decisions),
        )

    def answer_with(self, settlement: Settlement, delivered: tuple[int, float] | None) -> None:
        """Note the answer, and the step and time of its delivery, `None` without one."""
        error = settlement.error
        self.failed = error is not None
        self.answer = (
            readable_wire(settlement.text) if error is None else f"{error.name}: {error.message}"
        )
        self.kept = delivered is None
        if delivered is not None:
            self.step, self.answered = delivered


@attrs.frozen(kw_only=True)
class Timeline:
    """A journal as a person reads it.

    Attributes:
        began: The eval's clock at its beginning, in seconds since 1970; `None` if none is recorded.
        steps: The number of times that the guest received answers.
        events: Calls and pauses, in order.
        computing: Stretches in which the guest computed, in order; empty if none are recorded.
        offered: Names that the code could call, each with fields of its bridge; empty if not
            recorded.
        language: Language of the eval's code; `None` if none is recorded.
    """

    began: float | None
    steps: int
    events: Sequence[RecordedCall | PauseEvent]
    computing: Sequence[Computing] = ()
    offered: Mapping[str, Mapping[str, bool]] = attrs.field(factory=dict)
    language: str | None = None

    @property
    def paused(self) -> PauseEvent | None:
        """The questions that the eval waits for, if it was paused and not resumed."""
        pauses = [event for event in self.events if isinstance(event, PauseEvent)]
        return pauses[-1] if pauses and not pauses[-1].resumed else None

    def shown(self) -> list[InnerCall | PauseEvent]:
        """The events as pages show them."""
        return [one.shown() if isinstance(one, RecordedCall) else one for one in self.events]

    @property
    def kept(self) -> Sequence[RecordedCall]:
        """Finished calls whose answers the guest has not received."""
        return [event for event in self.events if isinstance(event, RecordedCall) and event.kept]


def read_timeline(entries: Sequence[Mapping[str, Any]]) -> Timeline:
    """Read a journal.

    Raises:
        UnreadableJournal: A release wrote it in a form that this one cannot read, or it is damaged.
    """
    with reporting_damage():
        return _timeline(entries)


def _timeline(entries: Sequence[Mapping[str, Any]]) -> Timeline:
    cell = read_cell(entries)
    if cell.began is None:
        return Timeline(began=None, steps=0, events=())
    notes = cell.notes
    calls: dict[int, RecordedCall] = {}
    events: list[RecordedCall | PauseEvent] = []
    computing: dict[Computing, None] = {}
    step, clock = 0, 0.0
    for entry in cell.entries:
        asked = clock
        if entry.computed is not None:
            began, asked = (max(0.0, at - cell.began) for at in entry.computed)
            computing[Computing(began=began, ended=asked)] = None  # steps repeat those before them
        for request in entry.asked:
            if request.id not in calls:  # a step repeats the undelivered answers before it
                calls[request.id] = _call(request, asked, notes)
                events.append(calls[request.id])
        if entry.now is not None:
            step, clock = step + 1, entry.now - cell.began
        for settlement in entry.settlements:
            if settlement.id in calls:
                delivered = None if entry.undelivered else (step, clock)
                calls[settlement.id].answer_with(settlement, delivered)
        events += _pauses(entry.notes, notes, clock)
    return Timeline(
        began=cell.began,
        steps=step,
        events=events,
        computing=list(computing),
        offered=offered_in(entries[0]),
        language=entries[0].get("language"),
    )


def _call(request: RecordedRequest, asked: float, notes: Mapping[str, Any]) -> RecordedCall:
    return RecordedCall(
        id=request.id,
        bridge=request.bridge,
        input=readable_wire(request.input),
        asked=asked,
        decisions=list(_decisions(notes, request.id)),
    )


def offered_in(first: Mapping[str, Any]) -> dict[str, dict[str, bool]]:
    """Names on offer according to the first entry of a journal, each with fields of its bridge."""
    unlisted, positional, yielding = (
        set(first.get(name, ())) for name in ("unlisted", "positional", "yielding")
    )
    return {
        str(name): {
            "listed": name not in unlisted,
            "positional": name in positional,
            "yields": name in yielding,
        }
        for name in first.get("offered", ())
    }


def _decisions(notes: Mapping[str, Any], request_id: int) -> Iterator[str]:
    decision = notes.get(f"decision {request_id}")
    if decision is not None:
        kind, message = decision["type"], decision.get("message")
        if kind == "edit":
            yield f"edit: {decision['name']}({_json(decision['args'])})"
        else:
            yield f"{kind}: {message}" if message else kind
    for answer in notes.get(f"answers {request_id}") or ():
        yield f"answered: {_json(answer)}"


def _pauses(
    noted: Mapping[str, Any], notes: Mapping[str, Any], clock: float
) -> Iterator[RecordedCall | PauseEvent]:
    number = noted.get("pauses")
    if number is None:
        return
    pause = noted[f"pause {number}"]
    resumed = bool(notes.get(f"resumed {number}"))
    given = {} if resumed else notes.get("given") or {}
    asked = [
        f"approval of {action['name']}({_json(action['args'])})"
        for question in pause["questions"].values()
        for action in question["payload"]["action_requests"]
    ]
    asked += [f"an answer to {_json(one.value)}" for one in pause["others"] if one.id not in given]
    yield PauseEvent(number=number, at=clock, waits_for=asked, resumed=resumed)


def _json(value: Any) -> str:
    return json.dumps(value, default=repr, ensure_ascii=False)
