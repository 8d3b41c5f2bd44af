"""Spans and measurements of sessions that hibernate and wake."""

from __future__ import annotations

import time

import attrs
from opentelemetry.context import Context

from interpstack import Session
from interpstack_otel.telemetry import Telemetry

__all__ = ["Move"]


@attrs.frozen
class Move:
    """A session that hibernated or woke.

    Attributes:
        session: The session.
        wakes: Whether it woke.
        seconds: The time that this took.
        image_bytes: The size of the image; 0 without one.
        ended: When it was done, in nanoseconds since 1970.
    """

    session: Session
    wakes: bool
    seconds: float
    image_bytes: int
    ended: int = attrs.field(factory=time.time_ns, init=False)

    def measure(self, telemetry: Telemetry) -> None:
        """Add the move to the metrics."""
        engine = {"interpstack.engine.name": self.session.stack.engine.name}
        move = {"interpstack.session.move": "wake" if self.wakes else "sleep"}
        telemetry.instruments.add("interpstack.session.move_time", self.seconds, {**engine, **move})
        if self.wakes:
            telemetry.instruments.add("interpstack.session.wakes", 1, engine)

    def show(self, telemetry: Telemetry, parent: Context | None = None) -> None:
        """Make the span, below the current one or in a context."""
        span = telemetry.tracer.start_span(
            "interpstack.wake" if self.wakes else "interpstack.sleep",
            parent,
            start_time=self.ended - round(self.seconds * 1e9),
            attributes={
                "interpstack.engine.name": self.session.stack.engine.name,
                "interpstack.session.key": self.session.key,
                "interpstack.session.image_bytes": self.image_bytes,
            },
        )
        span.end(self.ended)
