"""The stored form of the trace of a run, by which a later run of the same cell finds it.

The record is stored among the records of guards in the record of the cell (`RunRecord`), when a run
ends before its cell does: at a pause, or when it is cancelled. So a run in another process, hours
later, links its spans to the earlier ones.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
from opentelemetry import trace
from opentelemetry.trace import SpanContext
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

__all__ = ["EarlierRun", "earlier_run", "run_record"]

#: The field that tells these records from those of other plugins.
_FIELD: Final = "traceparent"
_STATE: Final = "tracestate"
_propagator: Final = TraceContextTextMapPropagator()


@attrs.frozen
class EarlierRun:
    """The last recorded run of a cell.

    Attributes:
        context: The context of the run's span.
        number: The number of its record.
    """

    context: SpanContext
    number: int


def run_record(context: SpanContext, number: int) -> dict[str, Any]:
    """The record of a run.

    Args:
        context: The context of the run's span.
        number: The number of the record among those of the cell's runs, from 1.
    """
    carrier: dict[str, str] = {}
    span = trace.NonRecordingSpan(context)
    _propagator.inject(carrier, trace.set_span_in_context(span))
    return {"run": secrets.token_hex(8), "number": number, **carrier}


def earlier_run(records: Iterable[Mapping[str, Any]]) -> EarlierRun | None:
    """The last run among stored records; `None` without one that can be read.

    A record comes out of a database, so nothing in it is trusted.
    """
    last: EarlierRun | None = None
    for record in records:
        number = record.get("number")
        if _FIELD not in record or type(number) is not int:
            continue
        context = _context_of(record)
        if context.is_valid and (last is None or number > last.number):
            last = EarlierRun(context, number)
    return last


def _context_of(record: Mapping[str, Any]) -> SpanContext:
    texts = {name: record.get(name, "") for name in (_FIELD, _STATE)}
    carrier = {name: text for name, text in texts.items() if isinstance(text, str)}
    return trace.get_current_span(_propagator.extract(carrier)).get_span_context()
