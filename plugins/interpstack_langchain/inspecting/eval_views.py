"""Recorded evals as the inspector shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import attrs
from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack import InterpstackError
from interpstack_accounts.api import read_spent
from interpstack_agents import RecordRejected
from interpstack_inspect.api import (
    Binding,
    EarlierAnswer,
    EvalRecord,
    EvalSummary,
    InnerCall,
    brief,
    failure_reason,
    last_second,
)
from interpstack_langchain.durability.checkpoint_writes import recorded_spending
from interpstack_langchain.replay.recorded_evals import (
    Record,
    RecordedEval,
    recorded_state,
    records_before,
)
from interpstack_langchain.replay.serializers import reading
from interpstack_langchain.replay.timeline import Timeline, read_timeline

__all__ = ["eval_record", "eval_summary"]

#: Characters of a variable's value, and variables, that are shown.
_VALUE_CHARS: Final = 500
_MOST_BINDINGS: Final = 500
#: Characters of a reason.
_REASON_CHARS: Final = 300


def eval_summary(found: RecordedEval) -> EvalSummary:
    """An eval as it stands in a list; an unreadable record does not hide the other evals."""
    summary = EvalSummary(
        number=found.number,
        tool=found.tool_name,
        call_id=found.call_id,
        graph=found.namespace,
        began=found.began,
        status="unreadable",
        code=found.code.code,
    )
    try:
        with reading(f"eval {found.number}"):
            timeline = read_timeline(found.entries)
            events = timeline.shown()
            status = _status(found, timeline)
            return attrs.evolve(
                summary,
                status=status,
                reason=_reason(status, found, timeline),
                calls=sum(isinstance(event, InnerCall) for event in events),
                seconds=last_second(events, timeline.computing) if events else None,
            )
    except InterpstackError as error:
        return attrs.evolve(summary, reason=str(error))


def eval_record(
    saver: BaseCheckpointSaver[Any], found: RecordedEval, signing_key: bytes | None
) -> EvalRecord:
    """Everything that is recorded of an eval.

    Args:
        saver: The checkpointer.
        found: The eval.
        signing_key: Variables of other keys are not shown; `None` to check none.
    """
    summary = eval_summary(found)
    if summary.status == "unreadable":
        return EvalRecord(summary=summary, answer=found.answer)
    timeline = read_timeline(found.entries)
    spent = read_spent(recorded_spending(found.key, found.saved.pending_writes or ()))
    record = EvalRecord(
        summary=summary,
        language=timeline.language or "",
        events=timeline.shown(),
        computing=timeline.computing,
        answer=found.answer,
        earlier_answers=[
            EarlierAnswer(tool=call.tool, answer=call.answer)
            for call in (found.cell.before if found.cell else ())
        ],
        drawn={} if spent is None else dict(spent.drawn),
    )
    with reading(f"the variables of eval {found.number}"):
        return _with_state(record, saver, found, signing_key)


def _status(found: RecordedEval, timeline: Timeline) -> str:
    if found.not_begun:
        return "not begun"
    if found.cell is not None and found.cell.terminated:
        return "terminated"
    if found.answer is None:
        return "in flight" if timeline.paused is None else "paused"
    message = found.step.answers.get(found.call_id)
    failed = message is not None and message.status == "error"
    return "failed" if failed or "<error " in found.answer else "ended"


def _reason(status: str, found: RecordedEval, timeline: Timeline) -> str:
    """The reason for the status of an eval; empty if there is none."""
    if status == "failed":
        return brief(failure_reason(found.answer or ""), _REASON_CHARS)
    if status == "paused" and timeline.paused is not None:
        return brief(f"waits for {', '.join(timeline.paused.waits_for)}", _REASON_CHARS)
    return found.not_begun


def _with_state(
    record: EvalRecord,
    saver: BaseCheckpointSaver[Any],
    found: RecordedEval,
    signing_key: bytes | None,
) -> EvalRecord:
    """A record with the variables around the eval."""
    earlier, own = records_before(saver, found)
    if not earlier and not own:
        return record
    try:
        before = recorded_state(earlier, found.owner, signing_key)
        after = recorded_state([*earlier, *own], found.owner, signing_key) if own else None
    except RecordRejected as error:
        return attrs.evolve(record, notes=[*record.notes, f"Variables cannot be shown: {error}."])
    state = before if after is None else after
    image = state.image
    return attrs.evolve(
        record,
        engine="" if image is None else image.engine,
        bindings=_bindings(before.values or {}, None if after is None else after.values or {}),
        state_bytes=None if image is None else len(image.data),
        stored_bytes=sum(_bytes(one) for one in own) if own else None,
    )


def _bytes(record: Record) -> int:
    data = record.get("data")
    return len(data) if isinstance(data, bytes) else 0


def _bindings(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> list[Binding]:
    """Variables by name; of an eval that stored none, those before it on both sides."""
    then = before if after is None else after
    names = sorted({*before, *then})[:_MOST_BINDINGS]
    return [
        Binding(name=name, before=_shown(before, name), after=_shown(then, name)) for name in names
    ]


def _shown(values: Mapping[str, Any], name: str) -> str | None:
    if name not in values:
        return None
    text = json.dumps(values[name], default=repr, ensure_ascii=False, skipkeys=True)
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}…"
