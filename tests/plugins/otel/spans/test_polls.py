"""Spans of polls."""

from __future__ import annotations

from traces import Traces

from interpstack_otel.spans.polls import Polls


def test_a_span_ends_with_its_poll_and_counts_the_requests_after_it(traces: Traces) -> None:
    tracer = traces.tracers.get_tracer("test")
    parent, polls = tracer.start_span("parent"), Polls(tracer)
    for seconds, requests in ((0.5, 2), (0.25, 0)):
        polls.begin()
        polls.polled(parent, seconds)
        for _ in range(requests):
            polls.requested()
    polls.close()
    polls.close()
    first, second = traces.spans("interpstack.poll")
    assert dict(first.attributes or {}) == {
        "interpstack.poll.number": 1,
        "interpstack.poll.cpu_seconds": 0.5,
        "interpstack.poll.requests": 2,
    }
    assert first.end_time <= second.start_time  # type: ignore[operator]
    assert first.parent == parent.get_span_context()
    assert (polls.count, polls.cpu_seconds) == (2, 0.75)


def test_the_only_poll_of_code_that_calls_nothing_has_no_span(traces: Traces) -> None:
    tracer = traces.tracers.get_tracer("test")
    for requests, spans in ((0, 0), (1, 1)):
        parent, polls = tracer.start_span("parent"), Polls(tracer)
        polls.polled(parent, 0.5)
        for _ in range(requests):
            polls.requested()
        polls.close()
        polls.close()
        assert len(traces.spans("interpstack.poll")) == spans
        assert (polls.count, polls.cpu_seconds) == (1, 0.5)


def test_polls_without_spans_are_counted(traces: Traces) -> None:
    parent, polls = traces.tracers.get_tracer("test").start_span("parent"), Polls(None)
    polls.polled(parent, 0.5)
    polls.close()
    assert (polls.count, traces.spans()) == (1, [])
