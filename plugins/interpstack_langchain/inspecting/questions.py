"""Open questions of a thread: approvals of calls, and what tools ask with `interrupt`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from interpstack_inspect.api import AskedCall, Question
from interpstack_langchain.replay.recorded_steps import RecordedStep

__all__ = ["questions_of"]

_INTERRUPT: Final = "__interrupt__"
#: Decisions on a call whose question does not list them.
_DECISIONS: Final = ("approve", "edit", "reject", "respond")
_SHOWN_CHARS: Final = 20_000


def questions_of(steps: Sequence[RecordedStep]) -> list[Question]:
    """The questions that the last step of the outermost graph waits for.

    Args:
        steps: The steps of a thread, in order.
    """
    outer = [step for step in steps if not step.graph]
    if not outer:
        return []
    asked = _interrupts(outer[-1].saved.pending_writes or ())
    return [_question(str(one.id), one.value) for one in asked]


def _interrupts(writes: Iterable[tuple[str, str, Any]]) -> list[Any]:
    """The interrupts of tasks, each once: those of a subagent are written in its graphs, too."""
    values = [value for _, channel, value in writes if channel == _INTERRUPT]
    found = [one for value in values for one in (value if isinstance(value, list | tuple) else [])]
    return [*{str(one.id): one for one in found}.values()]


def _question(name: str, value: Any) -> Question:
    text = json.dumps(value, default=repr, ensure_ascii=False, sort_keys=True, skipkeys=True)
    running = value.get("still_running") if isinstance(value, Mapping) else None
    calls = _calls(value)
    return Question(
        id=name,
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        calls=calls,
        text="" if calls else text[:_SHOWN_CHARS],
        still_running=[
            f"{one.get('name')}({one.get('input')})"
            for one in running or ()
            if isinstance(one, Mapping)
        ],
    )


def _calls(value: Any) -> list[AskedCall]:
    """The calls that an approval is about; none for a question of another form."""
    if not isinstance(value, Mapping):
        return []
    asked, review = value.get("action_requests"), value.get("review_configs")
    if not isinstance(asked, list) or not all(isinstance(one, Mapping) for one in asked):
        return []
    refused = value.get("refused")
    reasons = refused if isinstance(refused, list) else []
    return [
        AskedCall(
            name=str(one.get("name")),
            args=json.dumps(
                one.get("args"), default=repr, ensure_ascii=False, indent=2, skipkeys=True
            ),
            description=str(one.get("description") or ""),
            allowed=_allowed(review, number, str(one.get("name"))),
            refused=str(reasons[number] or "") if number < len(reasons) else "",
        )
        for number, one in enumerate(asked)
    ]


def _allowed(review: Any, number: int, name: str) -> Sequence[str]:
    """The decisions that are allowed on a call: of its own place, or of its name."""
    rules = [one for one in review if isinstance(one, Mapping)] if isinstance(review, list) else []
    own = rules[number : number + 1] if number < len(rules) else []
    for rule in [*own, *rules]:
        if rule.get("action_name") == name and isinstance(rule.get("allowed_decisions"), list):
            return [str(one) for one in rule["allowed_decisions"]]
    return _DECISIONS
