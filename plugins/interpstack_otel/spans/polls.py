"""Spans of the polls of an engine: the crossings into the guest, each with a batch of requests."""

from __future__ import annotations

import time

import attrs
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Tracer

__all__ = ["Polls"]


@attrs.define(eq=False)
class Polls:
    """The polls of one run.

    The requests of a poll begin after it, so its span is made when the next one ends.

    Attributes:
        tracer: Makes the spans; `None` for no spans.
        count: Polls so far.
        cpu_seconds: Seconds that the guest computed.
    """

    tracer: Tracer | None
    count: int = 0
    cpu_seconds: float = 0.0
    _context: Context | None = attrs.field(default=None, init=False)
    _requests: int = attrs.field(default=0, init=False)
    _began: int = attrs.field(factory=time.time_ns, init=False)
    _last: tuple[Context, float, int, int] | None = attrs.field(default=None, init=False)

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
        if self.tracer is not None and parent.is_recording():
            if self._context is None:
                self._context = trace.set_span_in_context(parent)
            self._last, self._requests = (self._context, seconds, self._began, time.time_ns()), 0

    def requested(self) -> None:
        """Note that a request of the last poll begins."""
        self._requests += 1

    def close(self) -> None:
        """Make the span of the last poll, at the end of the run.

        The only poll of code that called nothing has none: the eval's span has the same numbers,
        and a span costs more than all else that a trace adds to such an eval.
        """
        if self.count == 1 and not self._requests:
            self._last = None
        self.end()

    def end(self) -> None:
        """Make the span of the last poll, whose requests have all begun."""
        if self._last is None or self.tracer is None:
            return
        (context, seconds, began, ended), self._last = self._last, None
        attributes = {
            "interpstack.poll.number": self.count,
            "interpstack.poll.cpu_seconds": seconds,
            "interpstack.poll.requests": self._requests,
        }
        span = self.tracer.start_span(
            "interpstack.poll", context, start_time=began, attributes=attributes
        )
        span.end(ended)
