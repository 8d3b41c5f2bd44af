"""Open questions of a thread or a run: approvals of calls, and questions of tools and scripts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, SCHEDULED

from interpstack_inspect.api import AskedCall, Question
from interpstack_langchain.replay.recorded_steps import RecordedStep
from interpstack_langchain.rules.human_decisions import allowed_decisions

__all__ = ["NOT_ENDED", "ended_tasks", "open_interrupts", "questions_of", "run_questions_of"]

#: Channels whose writes do not end a task.
NOT_ENDED: Final = frozenset({ERROR, "__error_source_node__", INTERRUPT, RESUME, SCHEDULED})


def questions_of(steps: Sequence[RecordedStep]) -> list[Question]:
    """The questions that the last step of the outermost graph waits for.

    Args:
        steps: The steps of a thread, in order.
    """
    outer = [step for step in steps if not step.graph]
    if not outer:
        return []
    asked = open_interrupts(outer[-1].saved.pending_writes or ())
    return [_question(str(one.id), one.value) for one in asked]


def open_interrupts(writes: Sequence[tuple[str, str, Any]]) -> list[Any]:
    """The open interrupts of tasks, each once: those of a subagent are written in its graphs, too.

    The interrupt of a task that has ended since, while another one of its step waits, stays stored.
    """
    ended = ended_tasks(writes)
    values = [
        value for task, channel, value in writes if channel == INTERRUPT and task not in ended
    ]
    found = [one for value in values for one in (value if isinstance(value, list | tuple) else [])]
    return [*{str(one.id): one for one in found}.values()]


def ended_tasks(writes: Iterable[tuple[str, str, Any]]) -> set[str]:
    """The tasks of a step that have ended, with or without an output."""
    return {task for task, channel, _ in writes if channel not in NOT_ENDED}


def _question(name: str, value: Any) -> Question:
    text = _json(value)
    running = value.get("still_running") if isinstance(value, Mapping) else None
    calls = _calls(value)
    return Question(
        id=name,
        digest=_digest(value),
        calls=calls,
        text="" if calls else text,  # whole: an answer counts for what was shown
        still_running=[
            f"{one.get('name')}({one.get('input')})"
            for one in running or ()
            if isinstance(one, Mapping)
        ],
    )


def _calls(value: Any) -> list[AskedCall]:
    """The calls that an approval is about; none for a malformed question."""
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
            args=_shown_json(one.get("args")),
            description=str(one.get("description") or ""),
            allowed=allowed_decisions(review, number, str(one.get("name"))),
            refused=str(reasons[number] or "") if number < len(reasons) else "",
        )
        for number, one in enumerate(asked)
    ]


def run_questions_of(waits: Iterable[Mapping[str, Any]]) -> list[Question]:
    """The questions of a run of a workflow.

    Args:
        waits: Questions and approvals, as `run_questions` returns them.
    """
    return [_run_question(wait) for wait in waits]


def _run_question(wait: Mapping[str, Any]) -> Question:
    approvals = wait.get("approvals")
    choices = (wait.get("options") or {}).get("choices")
    return Question(
        id=str(wait["id"]),
        digest=_digest(wait),
        calls=[_approval(one) for one in approvals or ()],
        text=str(wait.get("question") or ""),
        choices=choices if isinstance(choices, list) else None,
    )


def _approval(one: Mapping[str, Any]) -> AskedCall:
    """One approval of a run: of a call, or a value that a person gives."""
    is_call = "decisions" in one
    return AskedCall(
        name=str(one.get("tool")) if is_call else "",
        args=_shown_json(one.get("args") if is_call else one.get("value")),
        description=str(one.get("description") or ""),
        allowed=[str(each) for each in one["decisions"]] if is_call else ["answer"],
        refused=str(one.get("fault") or ""),
        id=str(one.get("id")),
    )


def _digest(value: Any) -> str:
    """A digest of everything that is asked."""
    return hashlib.sha256(_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, default=repr, ensure_ascii=False, sort_keys=True, skipkeys=True)


def _shown_json(value: Any) -> str:
    return json.dumps(value, default=repr, ensure_ascii=False, indent=2, skipkeys=True)
