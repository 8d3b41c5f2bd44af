"""Spans of pauses and resumptions."""

from __future__ import annotations

from traces import Traces

from interpstack_otel.spans.pauses import Pauses


def test_a_run_has_one_pause_and_one_resumption(traces: Traces) -> None:
    tracer = traces.tracers.get_tracer("test")
    parent, pauses = tracer.start_span("parent"), Pauses(tracer)
    assert pauses.resuming(parent, "image")
    assert not pauses.resuming(parent, "record")
    pauses.resumed(4)
    pauses.resumed(5)
    pauses.pausing(parent, LookupError(), calls=1)
    pauses.pausing(parent, ValueError(), calls=1)
    pauses.end()
    resume, pause = traces.spans()
    assert dict(resume.attributes or {}) == {
        "interpstack.resume.from": "image",
        "interpstack.eval.replayed": 4,
    }
    assert dict(pause.attributes or {}) == {
        "interpstack.pause.reason": "LookupError",
        "interpstack.pause.calls": 2,
    }
    assert pause.parent == resume.parent == parent.get_span_context()


def test_a_run_without_them_has_no_spans(traces: Traces) -> None:
    pauses = Pauses(traces.tracers.get_tracer("test"))
    pauses.resumed(0)
    pauses.end()
    assert traces.spans() == []
