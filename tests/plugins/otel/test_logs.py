"""Lines for operators, and ids of traces on any line."""

from __future__ import annotations

import logging

import pytest
from opentelemetry import trace
from traces import Traces

from interpstack import InterpreterStack, Limits
from interpstack_otel.api import TraceIds
from interpstack_otel.logs import log_left, log_resumed, logs_runs, shown_name
from interpstack_otel.telemetry import current


def test_records_carry_the_ids_of_the_current_trace(traces: Traces) -> None:
    record = logging.LogRecord("any", logging.INFO, "file", 1, "text", None, None)
    assert TraceIds().filter(record)
    assert (vars(record)["otelTraceID"], vars(record)["otelSpanID"]) == ("0", "0")
    span = traces.tracers.get_tracer("test").start_span("span")
    with current(span):
        TraceIds().filter(record)
    assert vars(record)["otelTraceID"] == f"{span.get_span_context().trace_id:032x}"
    assert vars(record)["otelSpanID"] == f"{span.get_span_context().span_id:016x}"
    assert vars(record)["otelTraceSampled"] is True


def test_pauses_and_resumptions_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "interpstack.evals"):
        assert not logs_runs()
    with caplog.at_level(logging.INFO, "interpstack.evals"):
        assert logs_runs()
        log_left("s", LookupError("secret"))
        log_resumed("s")
    assert [one.getMessage() for one in caplog.records] == [
        "session s: an eval was stopped by LookupError",
        "session s: an eval continues that was stopped before",
    ]


def test_a_name_that_code_chose_stays_in_its_line() -> None:
    assert (
        shown_name("Bad\nWARNING forged\x1b[31m" + "x" * 200) == "BadWARNING forged[31m" + "x" * 77
    )
    assert shown_name("\n") == "an error"


async def test_lines_of_the_runtime_carry_the_trace_of_their_eval(
    traces: Traces, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(TraceIds())
    stack = InterpreterStack(plugins=[traces.plugin], limits=Limits(cpu_seconds=0.1))
    with caplog.at_level(logging.INFO, "interpstack.sessions"):
        async with stack.session("s") as session:
            assert (await session.eval("for (;;);")).stopped
    (record,) = caplog.records
    assert record.getMessage().startswith("session 's': a cell was stopped after ")
    span = traces.one("interpstack.eval").context
    assert vars(record)["otelSpanID"] == f"{span.span_id:016x}"
    assert not trace.get_current_span().get_span_context().is_valid
