"""Spans and measurements of the calls that code makes."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final

import attrs
from opentelemetry.trace import Span

from interpstack import MODULE, Bridge, Request, Settlement
from interpstack_otel.limits import limit_of_call, metric_error
from interpstack_otel.names import OTHER
from interpstack_otel.spans.evals import EvalTrace
from interpstack_otel.telemetry import current
from interpstack_subagents.api import subagent_named

__all__ = ["CallTrace", "running_call"]

#: Characters of a name that code chose.
_NAME_CHARS: Final = 200
#: Names of subagents that may be part of a span's name; code passes them.
_AGENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,63}", re.ASCII)


@attrs.frozen(eq=False)
class _Kind:
    """Attributes that all calls of one bridge in an eval share.

    Attributes:
        tool: The tool of the bridge; a fixed word where code named no bridge.
        measured: The attributes of metrics.
        first: The attributes of a new span.
        span_name: The name of the span, if all calls have the same.
    """

    tool: str
    measured: dict[str, str]
    first: dict[str, str]
    span_name: str | None

    @classmethod
    def of(cls, name: str, bridge: Bridge | None) -> _Kind:
        """The attributes of calls of a name, which code may have made up."""
        dispatches = bridge is not None and bridge.dispatches
        operation = "invoke_agent" if dispatches else "execute_tool"
        tool = OTHER if bridge is None else bridge.tool or bridge.name
        measured = {"gen_ai.operation.name": operation, "gen_ai.tool.name": tool}
        first = {**measured, "interpstack.bridge.name": _exportable(name[:_NAME_CHARS])}
        if bridge is None:
            return cls(tool, measured, first, operation)
        if not dispatches:
            first["gen_ai.tool.type"] = "function"
        return cls(tool, measured, first, None if dispatches else f"{operation} {tool}")


@attrs.define(eq=False)
class CallTrace:
    """The trace of one call, or of one import.

    Attributes:
        trace: The trace of the eval.
        request: The request.
        bridge: The bridge that answers; `None` for imports, and where code named no bridge.
    """

    trace: EvalTrace
    request: Request
    bridge: Bridge | None
    _began: float = attrs.field(factory=time.perf_counter, init=False)
    _waited: float | None = attrs.field(default=None, init=False)
    _kind: _Kind = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        kinds, name = self.trace.kinds, self.request.bridge
        if name not in kinds:
            if self.bridge is None:  # of any name: code must not fill the cache
                self._kind = _Kind.of(name, None)
                return
            kinds[name] = _Kind.of(name, self.bridge)
        self._kind = kinds[name]

    async def around(self, make: Callable[[], Awaitable[Settlement]]) -> Settlement:
        """Make the call."""
        trace = self.trace
        trace.calling()
        span = self._begun()
        counted = self.request.bridge != MODULE
        if counted:
            trace.telemetry.instruments.add("interpstack.call.waiting", 1)
        token = running_call.set(self)
        outcome, error = "cancelled", None
        last: dict[str, str | float] = {}
        try:
            with current(span):
                settlement = await make()
            outcome, error = self._ended(span, settlement, last)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as raised:  # for the host, such as a pause
            outcome = "paused"
            trace.pausing(raised)
            raise
        finally:
            running_call.reset(token)
            if counted:
                self._measure(outcome, error)
            if span.is_recording():
                last["interpstack.call.outcome"] = outcome
                if self._waited is not None:
                    last["interpstack.call.queue_seconds"] = self._waited
                span.set_attributes(last)
            span.end()
        return settlement

    def admitted(self) -> None:
        """Note that the call has its slot."""
        if self._waited is None:
            self._waited = time.perf_counter() - self._began
            add = self.trace.telemetry.instruments.add
            add("interpstack.call.waiting", -1)
            add("interpstack.call.queue_time", self._waited, self._kind.measured)

    def _begun(self) -> Span:
        """The span of the call, begun; without the call's own attributes where none is recorded."""
        start, request = self.trace.telemetry.tracer.start_span, self.request
        if request.bridge == MODULE:
            name = request.wire if isinstance(request.wire, str) else ""
            module = {"interpstack.module.name": _exportable(name[:_NAME_CHARS])}
            return start("interpstack.import", attributes=module)
        if not self.trace.recording:
            return start(self._kind.span_name or "invoke_agent", attributes=self._kind.first)
        name, attributes = self._described()
        return start(name, attributes=attributes)

    def _described(self) -> tuple[str, dict[str, str]]:
        """The name of the span, and its first attributes."""
        kind, request, name = self._kind, self.request, self._kind.span_name
        attributes = {**kind.first, "gen_ai.tool.call.id": f"{self.trace.number}:{request.id}"}
        if name is None:
            agent = subagent_named(request.wire, self.trace.session.language)
            name = "invoke_agent"
            if _AGENT.fullmatch(agent):
                attributes["gen_ai.agent.name"], name = agent, f"{name} {agent}"
        payloads = self.trace.telemetry.payloads
        if payloads is not None:
            shown = payloads.tree(kind.tool, request.wire)
            if shown is not None:
                attributes["gen_ai.tool.call.arguments"] = shown
        return name, attributes

    def _ended(
        self, span: Span, settlement: Settlement, last: dict[str, str | float]
    ) -> tuple[str, str | None]:
        """Describe an answered call; returns its outcome, and the name of its error."""
        error, telemetry, text = settlement.error, self.trace.telemetry, settlement.text
        if error is not None:
            telemetry.fail(span, error, self._kind.tool)
            limit = limit_of_call(settlement)
            if limit is not None:
                telemetry.hit(limit)
            return ("refused" if settlement.refused else "error"), error.name
        telemetry.transferred("answer", len(text))
        last["interpstack.call.answer_bytes"] = len(text)
        if self.request.bridge != MODULE:
            telemetry.show(span, "gen_ai.tool.call.result", "answer", text, self._kind.tool)
        return "ok", None

    def _measure(self, outcome: str, error: str | None) -> None:
        add = self.trace.telemetry.instruments.add
        if self._waited is None:
            add("interpstack.call.waiting", -1)
        measured = self._kind.measured
        how = {**measured, "interpstack.call.outcome": outcome, **metric_error(error)}
        add("interpstack.call.duration", time.perf_counter() - self._began, how)


def _exportable(text: str) -> str:
    """A text without lone surrogates, which cannot be exported."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


#: The call that the current code answers.
running_call: ContextVar[CallTrace | None] = ContextVar("interpstack_otel_call", default=None)
