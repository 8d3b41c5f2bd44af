"""The destinations of spans and measurements, and the forms of texts and errors on spans."""

from __future__ import annotations

import attrs
from opentelemetry import context, trace
from opentelemetry.trace import Span, Status, StatusCode, Tracer

from interpstack import GuestError
from interpstack_otel.logs import shown_name
from interpstack_otel.metrics import Instruments
from interpstack_otel.payloads import PayloadKind, Payloads

__all__ = ["Telemetry", "current"]


class current:  # noqa: N801 - a function's name, and a class for speed: each call enters it
    """Make a span the current one in a block; exceptions pass by it, and it does not end.

    Args:
        span: The span.
    """

    __slots__ = ("_context", "_token")

    def __init__(self, span: Span) -> None:
        self._context = trace.set_span_in_context(span)

    def __enter__(self) -> None:
        self._token = context.attach(self._context)

    def __exit__(self, *error: object) -> None:
        context.detach(self._token)


@attrs.frozen(eq=False, kw_only=True)
class Telemetry:
    """The destinations of spans and measurements, and the choice of them.

    Attributes:
        tracer: Makes spans.
        instruments: Take measurements.
        payloads: Settings for texts on spans; `None` shows none.
        polls: Whether each poll has a span.
    """

    tracer: Tracer
    instruments: Instruments
    payloads: Payloads | None = None
    polls: bool = True

    def show(
        self, span: Span, attribute: str, kind: PayloadKind, text: str, tool: str = ""
    ) -> None:
        """Put a text on a span, if texts are shown.

        Args:
            span: The span.
            attribute: The attribute that gets the text.
            kind: The kind of the text.
            text: The text; nothing is shown for an empty one.
            tool: The tool whose text it is; empty for a text of the cell.
        """
        if self.payloads is None or not text or not span.is_recording():
            return
        shown = self.payloads.shown(kind, tool, text)
        if shown is not None:
            span.set_attribute(attribute, shown)

    def fail(self, span: Span, error: GuestError, tool: str = "") -> None:
        """Mark a span as failed; the message may be the guest's, so it is a payload."""
        shown = None
        if self.payloads is not None:
            shown = self.payloads.shown("error", tool, error.message)
        span.set_attribute("error.type", shown_name(error.name))
        span.set_status(Status(StatusCode.ERROR, shown))

    def hit(self, kind: str) -> None:
        """Count a limit that an eval or a call ran into."""
        self.instruments.add("interpstack.limit.hits", 1, {"interpstack.limit.kind": kind})

    def transferred(self, kind: str, size: int) -> None:
        """Count bytes that crossed."""
        if size:
            attributes = {"interpstack.transfer.kind": kind}
            self.instruments.add("interpstack.transferred", size, attributes)
