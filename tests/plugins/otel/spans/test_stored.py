"""The stored form of the trace of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import SpanContext, TraceFlags

from interpstack_otel.spans.stored import earlier_run, run_record

CONTEXT = SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(1))
STORED = Path(__file__).parents[3] / "stored" / "traces"


def test_the_last_run_is_found_among_records_of_other_plugins() -> None:
    newer = SpanContext(0xABC, 0x123, is_remote=False, trace_flags=TraceFlags(1))
    records = [{"run": "a", "number": 9, "drawn": {}}, run_record(newer, 2), run_record(CONTEXT, 1)]
    found = earlier_run(json.loads(json.dumps(records)))
    assert found is not None
    assert (found.context.span_id, found.context.trace_id, found.number) == (0x123, 0xABC, 2)
    assert found.context.is_remote


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"number": 1},
        {"number": "1", "traceparent": f"00-{1:032x}-{1:016x}-01"},
        {"number": 1, "traceparent": 7},
        {"number": 1, "traceparent": "x" * 10**6},
        {"number": 1, "traceparent": f"00-{0:032x}-{1:016x}-01"},
    ],
)
def test_a_damaged_record_is_passed_over(record: dict[str, Any]) -> None:
    assert earlier_run([record]) is None


@pytest.mark.parametrize("form", sorted(path.name for path in STORED.iterdir()))
def test_records_of_earlier_versions_are_read(form: str) -> None:
    found = earlier_run(json.loads((STORED / form).read_text("utf-8")))
    assert found is not None
    assert (found.context.trace_id, found.context.span_id, found.number) == (0xABC, 0xDEF, 3)
    assert found.context.trace_state == {"vendor": "value"}
