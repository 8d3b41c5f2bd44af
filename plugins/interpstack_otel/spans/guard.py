"""The guard by which a trace follows a run; it limits nothing."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from opentelemetry.trace import Span

from interpstack import (
    Bridge,
    BridgeSet,
    Cell,
    CellGuard,
    GuestError,
    Request,
    RunRecord,
    Seconds,
    Settlement,
)
from interpstack_otel.spans.calls import running_call
from interpstack_otel.spans.evals import EvalTrace

__all__ = ["TraceGuard"]


@attrs.define(eq=False, slots=False)
class TraceGuard(CellGuard):
    """Follows one run of a cell.

    Attributes:
        trace: The trace of the eval.
    """

    trace: EvalTrace
    _span: Span = attrs.field(init=False)

    def begin(self, cell: Cell, record: RunRecord, *, resumed: bool) -> None:
        self._span = self.trace.begin(cell, record, resumed=resumed)

    def allowance(self, kind: Seconds) -> float | None:
        if kind == "cpu_seconds":  # asked for right before each poll
            self.trace.polls.begin()
        return None

    def computed(self, seconds: float) -> None:
        self.trace.polls.polled(self._span, seconds)

    def exceeded(self, cpu: float | None, wall: float | None) -> GuestError | None:
        late = wall is not None and (cpu is None or wall < cpu)
        self.trace.limited("wall_seconds" if late else "cpu_seconds")
        return None

    async def before_call(self) -> None:
        call = running_call.get()
        if call is not None and call.trace is self.trace:
            call.admitted()

    def replayed(self, bridge: Bridge | None, request: Request, settlement: Settlement) -> None:
        self.trace.resuming("record")
        self.trace.answered_again(1)

    def resumed(self, bridges: BridgeSet, made: Mapping[str, int]) -> None:
        self.trace.answered_again(sum(made.values()))
