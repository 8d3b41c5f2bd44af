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
    _of: dict[str, str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._of = self._kind()

    async def around(self, make: Callable[[], Awaitable[Settlement]]) -> Settlement:
        """Make the call."""
        trace = self.trace
        trace.calling()
        name, attributes = self._described()
        span = trace.telemetry.tracer.start_span(name, attributes=attributes)
        counted = self.request.bridge != MODULE
        if counted:
            self._add("interpstack.call.waiting", 1)
        token = running_call.set(self)
        outcome, error = "cancelled", None
        try:
            with current(span):
                settlement = await make()
            outcome, error = self._ended(span, settlement)
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
            span.set_attribute("interpstack.call.outcome", outcome)
            if self._waited is not None:
                span.set_attribute("interpstack.call.queue_seconds", self._waited)
            span.end()
        return settlement

    def admitted(self) -> None:
        """Note that the call has its slot."""
        if self._waited is None:
            self._waited = time.perf_counter() - self._began
            self._add("interpstack.call.waiting", -1)
            self._add("interpstack.call.queue_time", self._waited, self._of)

    def _kind(self) -> dict[str, str]:
        """Attributes that spans and metrics share."""
        operation = "invoke_agent" if self.bridge and self.bridge.dispatches else "execute_tool"
        tool = OTHER if self.bridge is None else self.bridge.tool or self.bridge.name
        return {"gen_ai.operation.name": operation, "gen_ai.tool.name": tool}

    def _described(self) -> tuple[str, dict[str, str]]:
        """The name of the span, and its first attributes."""
        request, bridge = self.request, self.bridge
        if request.bridge == MODULE:
            name = request.wire if isinstance(request.wire, str) else ""
            attributes = {"interpstack.module.name": _exportable(name[:_NAME_CHARS])}
            return "interpstack.import", attributes
        attributes = {
            **self._of,
            "gen_ai.tool.call.id": f"{self.trace.cell.seed or 0:x}:{request.id}",
            "interpstack.bridge.name": _exportable(request.bridge[:_NAME_CHARS]),
        }
        subject = self._of["gen_ai.tool.name"]
        if bridge is None:
            subject = ""
        elif bridge.dispatches:
            agent = subagent_named(request.wire, self.trace.session.language)
            subject = agent if _AGENT.fullmatch(agent) else ""
            attributes |= {"gen_ai.agent.name": subject} if subject else {}
        else:
            attributes["gen_ai.tool.type"] = "function"
        payloads = self.trace.telemetry.payloads
        if payloads is not None:
            shown = payloads.tree(self._of["gen_ai.tool.name"], request.wire)
            attributes |= {} if shown is None else {"gen_ai.tool.call.arguments": shown}
        return f"{self._of['gen_ai.operation.name']} {subject}".rstrip(), attributes

    def _ended(self, span: Span, settlement: Settlement) -> tuple[str, str | None]:
        """Describe an answered call; returns its outcome, and the name of its error."""
        error, telemetry = settlement.error, self.trace.telemetry
        tool, text = self._of["gen_ai.tool.name"], settlement.text
        if error is not None:
            telemetry.fail(span, error, tool)
            limit = limit_of_call(settlement)
            if limit is not None:
                telemetry.hit(limit)
            return ("refused" if settlement.refused else "error"), error.name
        telemetry.transferred("answer", len(text))
        span.set_attribute("interpstack.call.answer_bytes", len(text))
        if self.request.bridge != MODULE:
            telemetry.show(span, "gen_ai.tool.call.result", "answer", text, tool)
        return "ok", None

    def _measure(self, outcome: str, error: str | None) -> None:
        if self._waited is None:
            self._add("interpstack.call.waiting", -1)
        how = {**self._of, "interpstack.call.outcome": outcome, **metric_error(error)}
        self._add("interpstack.call.duration", time.perf_counter() - self._began, how)

    def _add(self, name: str, amount: float, attributes: dict[str, str] | None = None) -> None:
        self.trace.telemetry.instruments.add(name, amount, attributes)


def _exportable(text: str) -> str:
    """A text without lone surrogates, which cannot be exported."""
    return text.encode("utf-8", "replace").decode()


#: The call that the current code answers.
running_call: ContextVar[CallTrace | None] = ContextVar("interpstack_otel_call", default=None)
