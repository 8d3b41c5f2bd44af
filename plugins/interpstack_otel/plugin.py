"""The hooks of the plugin, and its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, TracerProvider

from interpstack import (
    Cell,
    CellGuard,
    ConfigurationError,
    Outcome,
    Request,
    Session,
    Settlement,
    Wrapper,
    __version__,
    hookimpl,
)
from interpstack.checks import shown
from interpstack_otel.logs import log_left, logs_runs
from interpstack_otel.metrics import Instruments
from interpstack_otel.names import SCOPE
from interpstack_otel.payloads import Payloads
from interpstack_otel.spans.calls import CallTrace
from interpstack_otel.spans.evals import EvalTrace, running_eval
from interpstack_otel.spans.guard import TraceGuard
from interpstack_otel.spans.moves import Move
from interpstack_otel.telemetry import Telemetry

__all__ = ["OpenTelemetry", "plugin"]


class OpenTelemetry:
    """The plugin `otel` with settings of its own.

    Args:
        payloads: Shows source code, arguments, answers, results and error messages on spans,
            redacted and shortened; by default, spans show none of them.
        polls: Whether each poll of the engine gets a span.
        tracer_provider: The provider that receives the spans; by default, that of the process.
        meter_provider: The provider that receives measurements; by default, that of the process.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    name: Final = "otel"

    def __init__(
        self,
        *,
        payloads: Payloads | None = None,
        polls: bool = True,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        if payloads is not None and not isinstance(payloads, Payloads):
            raise ConfigurationError(
                f"payloads takes a Payloads object, or None for no payloads; got {shown(payloads)}"
            )
        if not isinstance(polls, bool):
            raise ConfigurationError(f"polls takes True or False; got {shown(polls)}")
        self._tracers, self._meters = tracer_provider, meter_provider
        self._telemetry = Telemetry(
            tracer=trace.get_tracer(SCOPE, __version__, tracer_provider),
            instruments=Instruments.of(meter_provider),
            payloads=payloads,
            polls=polls,
        )

    @property
    def _silent(self) -> bool:
        """Whether nothing would come out of spans and measurements."""
        tracers = self._tracers or trace.get_tracer_provider()
        if not isinstance(tracers, (ProxyTracerProvider, NoOpTracerProvider)):
            return False
        # The API's own providers, which have no common public class, measure nothing.
        meters = self._meters or metrics.get_meter_provider()
        return type(meters).__module__.startswith(metrics.__name__)

    @hookimpl
    def interpstack_session_opened(self, session: Session) -> None:
        self._telemetry.instruments.sessions.add(session)

    @hookimpl
    def interpstack_session_closing(self, session: Session) -> None:
        self._telemetry.instruments.sessions.remove(session)

    @hookimpl
    def interpstack_session_hibernation(
        self, session: Session, wakes: bool, seconds: float, image_bytes: int
    ) -> None:
        if self._silent:
            return
        move, trace = Move(session, wakes, seconds, image_bytes), running_eval.get()
        move.measure(self._telemetry)
        if trace is not None and trace.session is session:
            trace.woke(move)
        else:
            move.show(self._telemetry)

    @hookimpl
    def interpstack_wrap_eval(self, session: Session, cell: Cell) -> Wrapper[Outcome] | None:
        if self._silent:
            return _logged(session) if logs_runs() else None
        return EvalTrace(self._telemetry, session, cell).around

    @hookimpl
    def interpstack_open_cell(self, session: Session) -> CellGuard | None:
        trace = running_eval.get()
        return None if trace is None or trace.session is not session else TraceGuard(trace)

    @hookimpl
    def interpstack_wrap_request(
        self, session: Session, request: Request
    ) -> Wrapper[Settlement] | None:
        trace = running_eval.get()
        if trace is None or trace.session is not session:
            return None
        bridge = session.stack.bridge_set(session.offer).get(request.bridge)
        return CallTrace(trace, request, bridge).around


def _logged(session: Session) -> Wrapper[Outcome]:
    """A wrapper that only writes to the log."""

    async def around(run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        try:
            return await run()
        except Exception as error:
            log_left(session.key, error)
            raise

    return around


#: The plugin of the name `otel`, which uses the providers of the process.
plugin: Final = OpenTelemetry()
