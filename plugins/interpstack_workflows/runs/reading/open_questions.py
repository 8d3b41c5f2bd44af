"""Open questions of a run, from its records alone: another process may have it at work."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interpstack_workflows.runs.values import ENDED
from interpstack_workflows.runs.verbs.waits import approval_id, wait_id
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.steps.stages import approvals_of
from interpstack_workflows.stores.records import WorkflowRecord
from interpstack_workflows.stores.store import WorkflowStore

__all__ = ["open_questions", "run_questions"]


async def run_questions(store: WorkflowStore, record: WorkflowRecord) -> list[Mapping[str, Any]]:
    """Return the open questions and approvals of a run, also while it is at work in any process.

    Args:
        store: The store of the run.
        record: The run.

    Returns:
        See `WorkflowRunner.questions`.
    """
    if record.status in ENDED:
        return []
    found: Sequence[Mapping[str, Any]]
    if record.status == "waiting":
        found = [one for one in record.waiting_for if one["kind"] in ("ask", "approval")]
    else:
        found = open_questions(await store.entries(record.id))
    if not found:
        return []
    sent = await store.messages(record.id, 0)
    answered = {message.id for _, message in sent if message.kind == "answer"}
    return [{**one, "answered": True} if one["id"] in answered else one for one in found]


def open_questions(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Questions and approvals that have begun and not ended, as a resting run lists them.

    Args:
        entries: Everything that the run has recorded.
    """
    begun: dict[tuple[str, str], StepRecord] = {}
    for entry in entries:
        for step in entry.settled:
            place = entry.scope, step.name
            if step.started and (step.kind == "ask" or _asks(step)):
                begun[place] = step
            else:
                begun.pop(place, None)
    return [_shown(scope, step) for (scope, _), step in begun.items()]


def _asks(step: StepRecord) -> bool:
    """Return whether an agent had asked for approvals when its step was recorded."""
    return step.kind == "agent" and approvals_of(step) is not None


def _shown(scope: str, step: StepRecord) -> dict[str, Any]:
    began = step.value
    if step.kind == "agent":
        shown = {"id": approval_id(scope, step.name, began["count"]), "kind": "approval"}
        return {**shown, "since": began["now"], "approvals": began["approvals"]}
    inputs = json.loads(step.signature)
    shown = {
        "id": wait_id(scope, step.name, began.get("asked", 0)),
        "kind": "ask",
        "since": began["now"],
    }
    return {**shown, "question": inputs["question"], "options": inputs["options"]}
