"""The trace of one run of an eval: its span, the spans of its pause and resumption, its metrics."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

import attrs
from opentelemetry import context, trace
from opentelemetry.trace import Link, Span

from interpstack import Cell, Outcome, RunRecord, Session
from interpstack_otel.limits import Limit, limit_of, limits_hit, metric_error
from interpstack_otel.logs import log_left, log_resumed
from interpstack_otel.spans.moves import Move
from interpstack_otel.spans.pauses import Pauses
from interpstack_otel.spans.polls import Polls
from interpstack_otel.spans.stored import EarlierRun, earlier_run, run_record
from interpstack_otel.telemetry import Telemetry, current

__all__ = ["EvalTrace", "running_eval"]

_log = logging.getLogger("interpstack.otel")
#: Seconds that the record of a run may take when the run was cancelled.
_STORE_SECONDS: Final = 5.0


@attrs.define(eq=False)
class EvalTrace:
    """The trace of one run of an eval.

    The span is made when the record of the cell has been read, since its parent may be there.

    Attributes:
        telemetry: The destinations of spans and measurements.
        session: The session that runs the cell.
        cell: The cell; with its seed once the run has begun.
        polls: The polls of the engine.
        limit: The limit of time that the cell ran into, if it did.
        replayed: Requests that the record answered.
        kinds: Attributes that the calls of one bridge share, by its name; see `CallTrace`.
    """

    telemetry: Telemetry
    session: Session
    cell: Cell
    polls: Polls = attrs.field(init=False)
    limit: Limit | None = None
    replayed: int = 0
    kinds: dict[str, Any] = attrs.field(factory=dict, init=False)
    _span: Span | None = attrs.field(default=None, init=False)
    _pauses: Pauses = attrs.field(init=False)
    _record: RunRecord = attrs.field(factory=RunRecord, init=False)
    _earlier: EarlierRun | None = attrs.field(default=None, init=False)
    _attached: Any = attrs.field(default=None, init=False)
    _wakes: list[Move] = attrs.field(factory=list, init=False)
    _began: int = attrs.field(factory=time.time_ns, init=False)
    _started: float = attrs.field(factory=time.perf_counter, init=False)
    _where: dict[str, str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._pauses = Pauses(self.telemetry.tracer)
        self.polls = Polls(self.telemetry.tracer if self.telemetry.polls else None)
        engine = self.session.stack.engine
        self._where = {
            "interpstack.engine.name": engine.name,
            "interpstack.guest.language": self.cell.language or engine.language,
        }

    @property
    def recording(self) -> bool:
        """Whether the span of the eval is recorded; a sampler may have dropped it."""
        return self._span is not None and self._span.is_recording()

    @property
    def number(self) -> str:
        """The seed of the cell, by which ids of calls begin."""
        return f"{self.cell.seed or 0:x}"

    # -- around the eval -------------------------------------------------------------------

    async def around(self, run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Run the eval."""
        token = running_eval.set(self)
        count = self.telemetry.instruments.add
        count("interpstack.eval.active", 1, self._where)
        try:
            outcome = await run()
        except GeneratorExit:  # the event loop is gone, and the context with it
            self._attached = None
            self._end("cancelled", None)
            raise
        except BaseException as error:
            await self._left(error)
            raise
        finally:
            count("interpstack.eval.active", -1, self._where)
            if self._attached is not None:
                context.detach(self._attached)
            with suppress(ValueError):  # where the event loop is gone
                running_eval.reset(token)
        self._answered(outcome)
        return outcome

    def begin(self, cell: Cell, record: RunRecord, *, resumed: bool) -> Span:
        """Begin the span, when the realm is ready and the record has been read.

        The span is current from now on, until the eval has its outcome.

        Args:
            cell: The cell, with its seed.
            record: The record of the run.
            resumed: Whether the run continues in the middle of the cell.
        """
        self.cell, self._record = cell, record
        self._earlier = earlier_run(record.amounts())
        span = self._begun()
        self._attached = context.attach(trace.set_span_in_context(span))
        if resumed or self._earlier is not None:
            self.resuming("image" if resumed else "record")
        return span

    def woke(self, move: Move) -> None:
        """Note that the session woke for this eval, which is before the span can be made."""
        self._wakes.append(move)

    def _begun(self) -> Span:
        """The span, begun if it was not; a run that goes on elsewhere belongs to the first one."""
        if self._span is not None:
            return self._span
        parent, links = None, list[Link]()
        if self._earlier is not None:
            links = [Link(self._earlier.context)]
            if not trace.get_current_span().get_span_context().is_valid:
                parent = trace.set_span_in_context(trace.NonRecordingSpan(self._earlier.context))
        size = _size(self.cell.source)
        self._span = self.telemetry.tracer.start_span(
            "interpstack.eval",
            parent,
            links=links,
            start_time=self._began,
            attributes={
                **self._where,
                "interpstack.session.key": self.session.key,
                "interpstack.cell.bytes": size,
            },
        )
        self.telemetry.transferred("source", size)
        self.telemetry.show(self._span, "interpstack.cell.source", "source", self.cell.source)
        for move in self._wakes:
            move.show(self.telemetry, trace.set_span_in_context(self._span))
        return self._span

    # -- pauses and resumptions ------------------------------------------------------------

    def resuming(self, way: str) -> None:
        """Note that the run goes on from an `image` or from the `record` of an earlier one."""
        span = self._begun()
        if self._pauses.resuming(span, way):
            with current(span):
                log_resumed(self.session.key)

    def answered_again(self, count: int) -> None:
        """Count requests that the record answered."""
        self.replayed += count

    def limited(self, kind: Limit) -> None:
        """Note the limit of time that ends the cell."""
        self.limit = kind

    def calling(self) -> None:
        """Note that a call begins, so the run has gone beyond its record."""
        self._pauses.resumed(self.replayed)
        self.polls.requested()

    def pausing(self, error: BaseException) -> None:
        """Note that a call cannot be answered now, so that the run will be left."""
        if self._record.repeats:
            self._pauses.pausing(self._begun(), error, calls=1)

    async def _left(self, error: BaseException) -> None:
        """End a run that an exception has left, and record its trace for a later run."""
        cancelled = isinstance(error, asyncio.CancelledError)
        outcome = "cancelled" if cancelled else "paused" if self._record.repeats else "left"
        span = self._begun()
        with current(span):
            if outcome == "paused":
                self._pauses.pausing(span, error, calls=0)
            if self._record.repeats and span.get_span_context().is_valid:
                await self._store(span)
            log_left(self.session.key, error)
        self._end(outcome, None)

    async def _store(self, span: Span) -> None:
        number = 1 if self._earlier is None else self._earlier.number + 1
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await self._record.keep_amounts(run_record(span.get_span_context(), number))
        except NotImplementedError:
            _log.debug("the journal stores no records beside its entries, so no link to this run")
        except Exception:  # noqa: BLE001 - of any store; the pause is not lost over a trace
            _log.warning("a later run of this eval will have no link to this one", exc_info=True)

    # -- the end ---------------------------------------------------------------------------

    def _answered(self, outcome: Outcome) -> None:
        span, error = self._begun(), outcome.error
        hits = limits_hit(outcome, self.limit, computed=self.polls.count > 0)
        for kind in hits:
            self.telemetry.hit(kind)
        ended = limit_of(outcome, hits)
        last: dict[str, str | float] = {
            "interpstack.eval.requests": outcome.usage.requests,
            "interpstack.eval.state": outcome.state,
        }
        if span.is_recording():
            if ended is not None:
                last["interpstack.limit.kind"] = ended
            self.telemetry.show(span, "interpstack.eval.result", "result", outcome.text)
            self.telemetry.show(span, "interpstack.eval.console", "console", outcome.console)
            if error is not None:
                self.telemetry.fail(span, error)
        self.telemetry.transferred("result", _size(outcome.text))
        self.telemetry.transferred("console", _size(outcome.console))
        self._end("error" if error else "ok", error.name if error else None, last)

    def _end(
        self, outcome: str, error: str | None, last: Mapping[str, str | float] | None = None
    ) -> None:
        span = self._begun()
        self._pauses.resumed(self.replayed)
        self._pauses.end()
        self.polls.close()
        if span.is_recording():
            span.set_attributes(
                {
                    **(last or {}),
                    "interpstack.eval.outcome": outcome,
                    "interpstack.eval.cpu_seconds": self.polls.cpu_seconds,
                    "interpstack.eval.crossings": self.polls.count,
                    "interpstack.eval.replayed": self.replayed,
                }
            )
        span.end()
        add, where = self.telemetry.instruments.add, self._where
        how = {**where, "interpstack.eval.outcome": outcome, **metric_error(error)}
        add("interpstack.eval.duration", time.perf_counter() - self._started, how)
        add("interpstack.eval.cpu_time", self.polls.cpu_seconds, where)
        add("interpstack.crossings", self.polls.count, where)


def _size(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


#: The eval that the current code runs in.
running_eval: ContextVar[EvalTrace | None] = ContextVar("interpstack_otel_eval", default=None)
