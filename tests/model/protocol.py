"""The protocol of durable runs: what may happen in which order, as a program that judges traces.

A *run* is a durable eval, a cell in the background, or a workflow. A *life* is one process that
works on it, from the moment at which it has read the record until it leaves the run, ends it, or
dies. An event is what somebody outside of the product can see: a tool that is called, an entry that
a store has taken, a page that a person is shown. The model does not know how the product is built.

`Model.take` accepts the next event of a trace, or raises `Broken`, which names the invariant.
`docs/explanation/proof.md` has the same names.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

__all__ = ["INVARIANTS", "Broken", "Event", "Model", "RunPhase", "judge"]

#: The invariants. The page has these sentences, too.
INVARIANTS: Final[Mapping[str, str]] = {
    "recorded-once": "A call whose answer is recorded is never made again.",
    "window": (
        "A call is made again only if the life that made it has left the run, died or been "
        "replaced before the answer was recorded."
    ),
    "recorded-first": "An answer is recorded before the code receives it.",
    "same-answer": "Every life of a run receives the recorded answer to a call, and no other.",
    "same-order": "Every life of a run receives the recorded answers in the recorded order.",
    "approved-first": "A call that needs an approval is made only after a person approved it.",
    "shown-first": "A decision counts only for a question that its person was shown before it.",
    "rejected-never": "A call that was only rejected is never made.",
    "quiet-pause": "Between a question and its decision the code makes no further call.",
    "log-kept": "An entry that a store has taken is never replaced, and no entry is skipped.",
    "one-holder": "A life claims a run only when the claim of another life holds no more.",
    "one-writer": "Only the life that claimed the record of a run last writes to it.",
    "refused-last": "A life whose record was refused makes no call afterwards.",
    "ended-last": "After a run has ended, none of its calls is made and nothing is recorded.",
    "ended-once": "All lives of a run report the same end.",
    "budget-held": "The calls of a run stay within its budget, whichever lives make them.",
    "message-once": "Code receives a message to its run at most once, and none that nobody sent.",
    "message-kept": "A message that was acknowledged before its run ended is received if awaited.",
    "same-run": "Deterministic code that runs again is never taken for code that differs.",
    "progress": "Once faults are over and people answer, every run ends.",
}


class Broken(AssertionError):
    """A trace is not allowed.

    Attributes:
        invariant: The name of the broken invariant.
        at: The number of the event in its trace, from 0; the trace's length for its end.
        event: The event.
    """

    def __init__(self, invariant: str, why: str) -> None:
        super().__init__(f"{invariant}: {INVARIANTS[invariant]} {why}")
        self.invariant = invariant
        self.at = -1
        self.event: Event | None = None


class RunPhase(enum.Enum):
    """What a run does, as far as the outside can see."""

    NEW = "new"
    RUNNING = "running"
    WAITING = "waiting"  # for a decision
    ENDED = "ended"


@attrs.frozen
class Event:
    """Something that happened.

    Attributes:
        kind: The message: `begin`, `take_over`, `renew`, `fence`, `call`, `answer`, `record`,
            `refused`, `deliver`, `ask`, `show`, `decide`, `suspend`, `resume`, `late`, `settle`,
            `cancel`, `send`, `receive`, `error`, `fault`, `die`, or `stuck`.
        run: The run; empty for `die`.
        life: The process; empty for what people do.
        data: See the method of the model with the name of the kind.
        at: Virtual seconds since the simulation began.
    """

    kind: str
    run: str = ""
    life: str = ""
    data: Mapping[str, Any] = attrs.field(factory=dict)
    at: float = 0.0

    def __str__(self) -> str:
        said = " ".join(f"{name}={value}" for name, value in self.data.items())
        return f"{self.at:9.3f} {self.life or '-':<4} {self.kind:<9} {self.run} {said}"


@attrs.define
class _Call:
    """A call of a run.

    Attributes:
        makers: The lives that made it and have neither left nor died.
        answer: The digest of the recorded answer; `None` before there is one.
        made: Whether it was ever made.
    """

    makers: set[str] = attrs.field(factory=set)
    answer: str | None = None
    made: bool = False


@attrs.define
class _Question:
    """A question about a call.

    Attributes:
        call: The key of the call.
        shown: Whether a person was shown the question.
        decisions: What people decided about it after that.
        blind: What people decided while they were shown something else.
    """

    call: str
    shown: bool = False
    decisions: list[str] = attrs.field(factory=list)
    blind: list[str] = attrs.field(factory=list)

    @property
    def open(self) -> bool:
        return not self.decisions


@attrs.define
class _Run:
    """The state of one run."""

    name: str
    budget: int | None = None
    phase: RunPhase = RunPhase.NEW
    holder: str = ""  # the life that claimed the run last, where claims are seen
    until: float = 0.0  # the end of that claim
    writer: str = ""  # the life that claimed the record last
    lives: set[str] = attrs.field(factory=set)
    refused: set[str] = attrs.field(factory=set)
    calls: dict[str, _Call] = attrs.field(factory=dict)
    questions: dict[str, _Question] = attrs.field(factory=dict)
    entries: list[str] = attrs.field(factory=list)
    order: list[str] = attrs.field(factory=list)  # keys of answers in recorded steps
    places: dict[str, int] = attrs.field(factory=dict)  # of the lives, in `order`
    asked: int = 0  # the highest number of a recorded request
    ends: set[str] = attrs.field(factory=set)
    sent: dict[str, bool] = attrs.field(factory=dict)  # whether each message was acknowledged
    received: dict[str, set[str]] = attrs.field(factory=dict)  # by message, the steps that got it

    def call(self, key: str) -> _Call:
        return self.calls.setdefault(key, _Call())


class Model:
    """The protocol.

    Args:
        budgets: By run, how many calls it may make; a run that is not named has no limit.
        lasting: Whether all messages to a run are awaited by its code.
    """

    def __init__(self, budgets: Mapping[str, int] = {}, *, lasting: bool = False) -> None:
        self._budgets = budgets
        self._lasting = lasting
        self._runs: dict[str, _Run] = {}
        self._now = 0.0

    def take(self, event: Event) -> None:
        """Accept the next event.

        Raises:
            Broken: It is not allowed.
        """
        if event.kind == "die":
            for run in self._runs.values():
                self._leaves(run, event.life)
            return
        known = self._runs.setdefault(event.run, _Run(event.run, self._budgets.get(event.run)))
        self._now = event.at
        handle: Callable[..., None] = getattr(self, f"_{event.kind}")
        handle(known, event.life, **event.data)

    # -- lives -----------------------------------------------------------------------------

    def _begin(self, run: _Run, life: str) -> None:
        """A life has read the record of a run, and works on it."""
        run.lives.add(life)
        run.places.pop(life, None)
        if run.phase is RunPhase.NEW:
            run.phase = RunPhase.RUNNING

    _resume = _begin

    def _take_over(self, run: _Run, life: str, seconds: float) -> None:
        """A life has claimed the run for some seconds."""
        if run.holder not in ("", life) and self._now < run.until:
            raise Broken("one-holder", f"{life} claimed it from {run.holder}.")
        run.holder, run.until = life, self._now + seconds
        run.refused.discard(life)
        for call in run.calls.values():
            call.makers &= {life}

    def _renew(self, run: _Run, life: str, seconds: float) -> None:
        """A life has renewed its claim, or ended it with 0 seconds."""
        if life != run.holder:
            raise Broken("one-holder", f"{life} renewed the claim of {run.holder}.")
        run.until = self._now + seconds

    def _fence(self, run: _Run, life: str) -> None:
        """A life has claimed the record: what earlier lives write to it is refused from now on."""
        run.writer = life

    def _suspend(self, run: _Run, life: str, left: Sequence[str] = ()) -> None:
        """A life leaves the run; the calls `left` run on, and only this process has their ends."""
        self._leaves(run, life)

    def _leaves(self, run: _Run, life: str) -> None:
        run.lives.discard(life)
        for call in run.calls.values():
            call.makers.discard(life)

    def _cancel(self, run: _Run, life: str) -> None:
        """Somebody asked for the end of the run, or of the life that works on it."""

    # -- calls -----------------------------------------------------------------------------

    def _call(self, run: _Run, life: str, key: str, number: int, gated: bool = False) -> None:
        """A tool is called; `number` is that of the request in the code."""
        call = run.call(key)
        if run.phase is RunPhase.ENDED:
            raise Broken("ended-last", f"{life} called {key}.")
        if call.answer is not None:
            raise Broken("recorded-once", f"{life} called {key}, whose answer is recorded.")
        if life in run.refused:
            raise Broken("refused-last", f"{life} called {key}.")
        if call.makers:
            raise Broken("window", f"{life} called {key}, which {sorted(call.makers)} called.")
        if gated:
            self._check_approved(run, life, key)
        if number > run.asked and run.phase is RunPhase.WAITING:
            raise Broken("quiet-pause", f"{life} called {key}, request {number}.")
        call.makers.add(life)
        call.made = True
        made = sum(one.made for one in run.calls.values())
        if run.budget is not None and made > run.budget:
            raise Broken("budget-held", f"{made} calls of {run.budget} were made.")

    def _check_approved(self, run: _Run, life: str, key: str) -> None:
        questions = [one for one in run.questions.values() if one.call == key]
        decisions = [each for one in questions for each in one.decisions]
        if "approve" in decisions:
            return
        if decisions:
            raise Broken("rejected-never", f"{life} called {key}.")
        if any(one.blind for one in run.questions.values()):
            raise Broken("shown-first", f"{life} called {key}, which nobody was shown.")
        raise Broken("approved-first", f"{life} called {key}, about which nobody decided.")

    def _answer(self, run: _Run, life: str, key: str) -> None:
        """A tool has returned to the life that called it."""

    # -- records ---------------------------------------------------------------------------

    def _record(
        self,
        run: _Run,
        life: str,
        index: int,
        entry: str,
        answers: Sequence[tuple[str, str]] = (),
        step: Sequence[str] = (),
        asked: int = 0,
    ) -> None:
        """A store has taken an entry, with answers by their keys; `step` is what it delivers."""
        if index != len(run.entries):
            if index < len(run.entries) and run.entries[index] == entry:
                return  # the acknowledgement was lost
            raise Broken("log-kept", f"{life} wrote entry {index} of {len(run.entries)}.")
        if run.writer not in ("", life):
            raise Broken("one-writer", f"{life} wrote entry {index}, not {run.writer}.")
        if run.phase is RunPhase.ENDED:
            raise Broken("ended-last", f"{life} wrote entry {index}.")
        run.entries.append(entry)
        run.asked = max(run.asked, asked)
        for key, digest in answers:
            call = run.call(key)
            if call.answer not in (None, digest):
                raise Broken("same-answer", f"{life} recorded another answer to {key}.")
            call.answer = digest
        run.order += step

    _late = _record

    def _refused(self, run: _Run, life: str) -> None:
        """A store has refused a record of a life, because another life has claimed the run."""
        run.refused.add(life)

    def _deliver(self, run: _Run, life: str, key: str, digest: str) -> None:
        """Code receives an answer."""
        call = run.call(key)
        if call.answer is None:
            raise Broken("recorded-first", f"{life} delivered the answer to {key}.")
        if call.answer != digest:
            raise Broken("same-answer", f"{life} delivered another answer to {key}.")
        if key not in run.order:
            raise Broken("recorded-first", f"{life} delivered {key}, which is in no step.")
        place = run.places.get(life, run.order.index(key))
        if place >= len(run.order) or run.order[place] != key:
            raise Broken("same-order", f"{life} delivered {key} at place {place}.")
        run.places[life] = place + 1

    # -- people ----------------------------------------------------------------------------

    def _ask(self, run: _Run, life: str, questions: Sequence[tuple[str, str]]) -> None:
        """The run waits for these questions, each about a call; the store has them."""
        for question, key in questions:
            run.questions.setdefault(question, _Question(key))
        if any(run.questions[question].open for question, _ in questions):
            run.phase = RunPhase.WAITING

    def _show(self, run: _Run, life: str, questions: Sequence[tuple[str, str]]) -> None:
        """A person is shown questions."""
        for question, key in questions:
            run.questions.setdefault(question, _Question(key)).shown = True

    def _decide(self, run: _Run, life: str, decisions: Mapping[str, str]) -> None:
        """A person decides about the questions on a page; others may be open meanwhile."""
        for question, decision in decisions.items():
            asked = run.questions.get(question)
            if asked is None or not asked.shown:
                raise Broken("shown-first", f"a person decided about {question}.")
            asked.decisions.append(decision)
        for question, asked in run.questions.items():
            if question not in decisions and asked.open:
                asked.blind += decisions.values()
        waits = any(asked.open for asked in run.questions.values())
        if run.phase is RunPhase.WAITING and not waits:
            run.phase = RunPhase.RUNNING

    def _send(self, run: _Run, life: str, message: str, acknowledged: bool) -> None:
        """A message was sent to the run."""
        known = run.sent.get(message, False)
        if run.phase is not RunPhase.ENDED:
            run.sent[message] = known or acknowledged

    def _receive(self, run: _Run, life: str, message: str, step: str) -> None:
        """The code's step has received a message; another life may receive it for that step."""
        steps = run.received.setdefault(message, set())
        steps.add(step)
        if message not in run.sent:
            raise Broken("message-once", f"nobody sent {message}.")
        if len(steps) > 1:
            raise Broken("message-once", f"{message} was received by the steps {sorted(steps)}.")

    # -- ends ------------------------------------------------------------------------------

    def _settle(self, run: _Run, life: str, end: str) -> None:
        """A life reports the end of the run."""
        run.ends.add(end)
        if len(run.ends) > 1:
            raise Broken("ended-once", f"the ends are {sorted(run.ends)}.")
        run.phase = RunPhase.ENDED
        self._leaves(run, life)
        lost = [one for one, known in run.sent.items() if known and one not in run.received]
        if self._lasting and lost and not end.startswith("cancelled"):
            raise Broken("message-kept", f"{lost} were not received.")

    def _fault(self, run: _Run, life: str, what: str) -> None:
        """A call of a store fails; nothing follows from that here."""

    def _error(self, run: _Run, life: str, name: str, text: str = "") -> None:
        """A life leaves the run with an exception for its caller."""
        if name in ("ReplayDivergence", "UnreadableJournal"):
            raise Broken("same-run", f"{life}: {text}")
        self._leaves(run, life)

    def _stuck(self, run: _Run, life: str, why: str = "") -> None:
        """The simulation has waited long enough for the end of the run."""
        raise Broken("progress", why)


def judge(
    trace: Iterable[Event], budgets: Mapping[str, int] = {}, *, lasting: bool = False
) -> None:
    """Decide whether a trace is allowed.

    Args:
        trace: The events, in order.
        budgets: See `Model`.
        lasting: See `Model`.

    Raises:
        Broken: It is not; the exception names the invariant and the event.
    """
    model = Model(budgets, lasting=lasting)
    for number, event in enumerate(trace):
        try:
            model.take(event)
        except Broken as broken:
            broken.at, broken.event = number, event
            raise
