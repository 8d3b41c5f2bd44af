"""Waits: sleeps, questions, signals and approvals, which cost nothing while they last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack.values import same_json
from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.runs.run_records import ROOT
from interpstack_workflows.stores.records import Message

__all__ = ["CONTRADICTED", "Wait", "Waits", "approval_id", "check_answer", "is_wait_id", "wait_id"]


#: Message about an answer to a question that has another one.
CONTRADICTED: Final = (
    "Run {run_id}, {ask_id}: this question was already answered, and the first answer is final; "
    "the other answer was refused and changed nothing"
)


def wait_id(scope: str, step: str, asked: int = 0) -> str:
    """Return the id of the wait that a step of a scope is.

    Args:
        scope: The scope.
        step: The name of the step.
        asked: How often the question of a step with a key has been replaced by another one. An
            answer to an earlier one does not count for it.
    """
    return f"{scope}/{step}:q{asked}" if asked else f"{scope}/{step}"


def is_wait_id(text: str) -> bool:
    """Return whether a text has the form of the id of a wait, as `wait_id` makes them."""
    return text.startswith(f"{ROOT}/")


def approval_id(scope: str, step: str, count: int) -> str:
    """The id of an approval that the agent of a step asks for; `count` is 1 for its first one."""
    return f"{wait_id(scope, step)}:{count}"


@attrs.frozen(kw_only=True, eq=False)
class Wait:
    """One open wait of a run.

    Attributes:
        id: Identifies the wait in its run; answers name it.
        kind: `sleep`, `ask`, `signal` or `approval`.
        since: The time at which the wait began, in seconds since 1970.
        wake_at: The time at which the wait ends without a message; `None` for never.
        awaited: The name of the signal, for a `signal`.
        view: Fields for the person who answers: `question`, `options`, `approvals`.
        ended: Takes the number and the message that end the wait; `None` if its time is up.
    """

    id: str
    kind: str
    since: float
    wake_at: float | None = None
    awaited: str = ""
    view: Mapping[str, Any] = attrs.field(factory=dict)
    ended: Callable[[int, Message | None], None]

    def to_json(self) -> dict[str, Any]:
        """Return the wait as a run's record stores it."""
        fields = {"id": self.id, "kind": self.kind, "since": self.since, **self.view}
        if self.awaited:
            fields["signal"] = self.awaited
        return fields if self.wake_at is None else {**fields, "wake_at": self.wake_at}

    def ends_by(self, message: Message) -> bool:
        """Return whether a message ends this wait."""
        if self.kind == "signal":
            return message.kind == "signal" and message.name == self.awaited
        return message.kind == "answer" and message.id == self.id


class Waits:
    """The open waits of a run, and the messages that came for it.

    Args:
        used: Numbers of signals that steps recorded earlier have taken.
    """

    def __init__(self, used: Iterable[int] = ()) -> None:
        self._open: dict[str, Wait] = {}
        self._used = set(used)
        self._messages: list[tuple[int, Message]] = []
        self._answered: set[str] = set()

    def open(self, wait: Wait) -> None:
        """Begin a wait; a message that came before ends it at once."""
        self._open[wait.id] = wait
        self._deliver(wait)

    def close(self, wait_id: str) -> None:
        """Forget a wait: its scope has ended, or its time has come."""
        self._open.pop(wait_id, None)

    def close_scope(self, scope: str) -> None:
        """Forget the waits of a scope that has ended, and of its children."""
        for wait_id in [one for one in self._open if one.startswith(f"{scope}/")]:
            self.close(wait_id)

    def take(self, messages: Iterable[tuple[int, Message]]) -> None:
        """Deliver messages from outside; messages that nothing awaits stay queued.

        Of several answers to one question, the first one counts.
        """
        for number, message in messages:
            if message.kind == "answer":
                if message.id in self._answered:
                    continue
                self._answered.add(message.id)
            if number not in self._used:
                self._messages.append((number, message))
        for wait in list(self._open.values()):
            self._deliver(wait)

    def expired(self, now: float) -> Sequence[Wait]:
        """Waits whose time has come, earliest first; they are closed."""
        due = [w for w in self._open.values() if w.wake_at is not None and w.wake_at <= now]
        for wait in due:
            self.close(wait.id)
        return sorted(due, key=lambda wait: wait.wake_at or 0.0)

    @property
    def wake_at(self) -> float | None:
        """The time at which the first wait ends by itself."""
        return min((w.wake_at for w in self._open.values() if w.wake_at is not None), default=None)

    def __bool__(self) -> bool:
        return bool(self._open)

    def __contains__(self, wait_id: str) -> bool:
        return wait_id in self._open

    def on_people(self) -> bool:
        """Return whether only a message from outside lets the run continue."""
        return bool(self._open) and self.wake_at is None

    def to_json(self) -> list[dict[str, Any]]:
        """Return the open waits as the run's record shows them, oldest first."""
        return [w.to_json() for w in sorted(self._open.values(), key=lambda w: w.since)]

    def _deliver(self, wait: Wait) -> None:
        for place, (number, message) in enumerate(self._messages):
            if wait.ends_by(message):
                del self._messages[place]
                self._used.add(number)
                self.close(wait.id)
                wait.ended(number, message)
                return


def check_answer(run_id: str, ask_id: str, value: Any, waits: Sequence[Mapping[str, Any]]) -> None:
    """Refuse an answer that no step waits for, or that its question or approval does not accept.

    Raises:
        WorkflowError: The message lists the open questions, the choices, or what is to be decided.
    """
    questions = {w["id"]: w for w in waits if w["kind"] in ("ask", "approval")}
    if ask_id not in questions:
        known = ", ".join(f"{key} ({_question(one)})" for key, one in questions.items()) or "none"
        raise WorkflowError(
            f"Run {run_id} has no open question {ask_id!r}; open questions: {known}"
        )
    if questions[ask_id]["kind"] == "approval":
        _check_decisions(ask_id, value, questions[ask_id].get("approvals") or ())
        return
    choices = (questions[ask_id].get("options") or {}).get("choices")
    if isinstance(choices, list) and not any(same_json(value, one) for one in choices):
        raise WorkflowError(f"The answer {value!r} is not one of the choices: {choices}")


def _check_decisions(wait_id: str, value: Any, approvals: Sequence[Mapping[str, Any]]) -> None:
    wanted = [str(one.get("id")) for one in approvals]
    if not isinstance(value, Mapping) or sorted(value) != sorted(wanted):
        raise WorkflowError(
            f"Approval {wait_id} takes an object with a decision for each of: {', '.join(wanted)};"
            f" got {value!r:.200}"
        )


def _question(wait: Mapping[str, Any]) -> str:
    return str(wait.get("question") or wait["kind"])[:100]
