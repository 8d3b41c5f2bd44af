"""The trace context for other services and processes."""

from __future__ import annotations

import os
import re

from traces import Traces

from interpstack import InterpreterStack, bridge
from interpstack_otel.api import trace_environment, trace_headers


def test_there_are_no_headers_outside_of_a_trace() -> None:
    assert trace_headers() == {}
    assert trace_environment({"PATH": "/bin", "TRACEPARENT": "of another"}) == {"PATH": "/bin"}


async def test_a_handler_gets_the_headers_of_its_call(traces: Traces) -> None:
    seen = []

    @bridge
    def call() -> None:
        seen.append((trace_headers(), trace_environment({"A": "b"}), trace_environment()))

    async with InterpreterStack(plugins=[traces.plugin], bridges=[call]).session() as session:
        await session.eval("await call({})")
    ((headers, added, inherited),) = seen
    span = traces.one("execute_tool call").get_span_context()
    parent = headers["traceparent"]
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", parent)
    assert parent.split("-")[1:3] == [f"{span.trace_id:032x}", f"{span.span_id:016x}"]
    assert added == {"A": "b", "TRACEPARENT": parent}
    assert inherited == {**os.environ, "TRACEPARENT": parent}
