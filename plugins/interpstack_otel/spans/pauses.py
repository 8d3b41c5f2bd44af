"""Spans of the pause that ends a run, and of the resumption that begins the next one."""

from __future__ import annotations

import attrs
from opentelemetry import trace
from opentelemetry.trace import Span, Tracer

__all__ = ["Pauses"]


@attrs.define(eq=False)
class Pauses:
    """The pause and the resumption of one run, where there are any.

    Attributes:
        tracer: Makes the spans.
    """

    tracer: Tracer
    _pause: Span | None = attrs.field(default=None, init=False)
    _calls: int = attrs.field(default=0, init=False)
    _resume: Span | None = attrs.field(default=None, init=False)

    def resuming(self, parent: Span, way: str) -> bool:
        """Begin the resumption, if it has not begun.

        Args:
            parent: The span of the run.
            way: Whether the run goes on from an `image` or from the `record` of an earlier one.

        Returns:
            Whether it has begun now.
        """
        if self._resume is not None:
            return False
        self._resume = self.tracer.start_span(
            "interpstack.resume",
            trace.set_span_in_context(parent),
            attributes={"interpstack.resume.from": way},
        )
        return True

    def resumed(self, replayed: int) -> None:
        """End the resumption: the run has gone beyond its record.

        Args:
            replayed: Requests that the record answered.
        """
        if self._resume is not None and self._resume.is_recording():
            self._resume.set_attribute("interpstack.eval.replayed", replayed)
            self._resume.end()

    def pausing(self, parent: Span, error: BaseException, *, calls: int) -> None:
        """Begin the pause, if it has not begun.

        Args:
            parent: The span of the run.
            error: The exception that ends the run.
            calls: Calls that wait because of it.
        """
        self._calls += calls
        if self._pause is None:
            self._pause = self.tracer.start_span(
                "interpstack.pause",
                trace.set_span_in_context(parent),
                attributes={"interpstack.pause.reason": type(error).__name__},
            )

    def end(self) -> None:
        """End the pause: the run has been left."""
        if self._pause is not None:
            self._pause.set_attribute("interpstack.pause.calls", self._calls)
            self._pause.end()
