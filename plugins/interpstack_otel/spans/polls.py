"""Spans of the polls of an engine: the crossings into the guest, each with a batch of requests."""

from __future__ import annotations

import time

import attrs
from opentelemetry import trace
from opentelemetry.trace import Span, Tracer

__all__ = ["Polls"]


@attrs.define(eq=False)
class Polls:
    """The polls of one run.

    The requests of a poll begin after it, so its span is kept until the next one.

    Attributes:
        tracer: Makes the spans; `None` for no spans.
        count: Polls so far.
        cpu_seconds: Seconds that the guest computed.
    """

    tracer: Tracer | None
    count: int = 0
    cpu_seconds: float = 0.0
    _requests: int = attrs.field(default=0, init=False)
    _began: int = attrs.field(factory=time.time_ns, init=False)
    _open: tuple[Span, int] | None = attrs.field(default=None, init=False)

    def begin(self) -> None:
        """Note that a poll is about to begin."""
        self._began = time.time_ns()

    def polled(self, parent: Span, seconds: float) -> None:
        """Note that a poll has ended.

        Args:
            parent: The span of the eval.
            seconds: Seconds that the guest computed in it.
        """
        self.end()
        self.count += 1
        self.cpu_seconds += seconds
        if self.tracer is None or not parent.is_recording():
            return
        span = self.tracer.start_span(
            "interpstack.poll",
            trace.set_span_in_context(parent),
            start_time=self._began,
            attributes={
                "interpstack.poll.number": self.count,
                "interpstack.poll.cpu_seconds": seconds,
            },
        )
        self._open, self._requests = (span, time.time_ns()), 0

    def requested(self) -> None:
        """Note that a request of the last poll begins."""
        self._requests += 1

    def end(self) -> None:
        """End the span of the last poll."""
        if self._open is not None:
            (span, ended), self._open = self._open, None
            span.set_attribute("interpstack.poll.requests", self._requests)
            span.end(ended)
