"""The current span, and texts and errors on spans."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode
from traces import Traces

from interpstack import GuestError
from interpstack_otel.api import Payloads
from interpstack_otel.telemetry import current


def test_a_span_is_current_in_its_block_alone(traces: Traces) -> None:
    span = traces.tracers.get_tracer("test").start_span("span")
    seen = []

    def fail() -> None:
        with current(span):
            seen.append(trace.get_current_span())
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert seen == [span]
    assert not trace.get_current_span().get_span_context().is_valid
    span.end()
    assert traces.one("span").events == ()


@pytest.mark.parametrize(("payloads", "message"), [(None, None), (Payloads(), "a secret")])
def test_messages_of_errors_are_payloads(payloads: Payloads | None, message: str | None) -> None:
    traces = Traces(payloads=payloads)
    span = traces.tracers.get_tracer("test").start_span("span")
    traces.plugin._telemetry.fail(span, GuestError("Bad", "a secret"))
    traces.plugin._telemetry.show(span, "text", "answer", "a text", "tool")
    span.end()
    found = traces.one("span")
    assert (found.status.status_code, found.status.description) == (StatusCode.ERROR, message)
    shown = {} if payloads is None else {"text": "a text"}
    assert dict(found.attributes or {}) == {"error.type": "Bad", **shown}
