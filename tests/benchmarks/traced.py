"""The case about the cost of traces: of the plugin, and of the SDK that takes its spans."""

from __future__ import annotations

import gc
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agents import MakeMiddleware, Once, agent, ask
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from interpstack import Bridge, InterpreterStack, hookimpl
from interpstack_otel.api import OpenTelemetry

__all__ = ["traced"]

_CALLS = 100
#: Rounds of one repetition, and turns or evals of each setting in a round.
_ROUNDS, _TURNS, _EVALS = 20, 3, 10
_Run = Callable[[], Awaitable[float]]
_FIRST = dict.fromkeys(("a", "b", "c", "d", "e", "f"), "a value")
_LAST = {"g": "ok", "h": 17, "i": 0.25}
_Make = Callable[[], Awaitable[Any]]


class _Dropped(SpanExporter):
    """An exporter that does nothing."""

    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS


class _ByHand:
    """As many spans as the plugin makes, with as many attributes, and nothing else.

    Attributes:
        tracer: Makes them.
    """

    name = "by-hand"

    def __init__(self, tracer: trace.Tracer) -> None:
        self.tracer = tracer

    @hookimpl
    def interpstack_wrap_eval(self, session: Any, cell: Any) -> Any:
        return self._around

    @hookimpl
    def interpstack_wrap_request(self, session: Any, request: Any) -> Any:
        return self._around_call

    async def _around(self, make: _Make) -> Any:
        with self.tracer.start_as_current_span("eval", attributes=_FIRST) as span:
            outcome = await make()
            for _ in range(2 * bool(outcome.usage.requests)):  # a poll for the answers, too
                self.tracer.start_span("poll", attributes=_LAST).end()
            span.set_attributes({**_LAST, "j": 1, "k": 2, "l": 3})
            return outcome

    async def _around_call(self, make: _Make) -> Any:
        with self.tracer.start_as_current_span("call", attributes=_FIRST) as span:
            settlement = await make()
            span.set_attributes(_LAST)
            return settlement


async def traced(make: MakeMiddleware) -> Once:
    """Compare the same work with several settings of traces, in one process, taking turns.

    Processor time is compared, of which other programs take nothing.
    """
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(_Dropped()))
    settings: dict[str, list[Any]] = {
        "plain": [],
        "api": [OpenTelemetry()],
        "sdk": [OpenTelemetry(tracer_provider=provider)],
        "hand": [_ByHand(provider.get_tracer("bench"))],
    }
    turns = {name: _turn(make, plugins) for name, plugins in settings.items()}
    bare = {name: _evals(plugins, "1 + 1") for name, plugins in settings.items()}
    many = f"await Promise.all(Array.from({{length: {_CALLS}}}, (_, n) => host.echo({{n}})))"
    calls = {name: _evals(plugins, f"{many}; 1") for name, plugins in settings.items()}

    async def once() -> dict[str, float]:
        found: dict[str, float] = {}
        for case, runs in (("turn", turns), ("bare", bare), ("calls", calls)):
            rounds = await _in_turn(runs)
            for name in ("api", "sdk", "hand"):
                ratios = [one[name] / one["plain"] for one in rounds]
                found[f"{name}_{case}"] = statistics.median(ratios)
                added = [(one[name] - one["plain"]) / (_CALLS + 3) for one in rounds]
                found[f"{name}_span"] = statistics.median(added)  # of the last case: of all calls
        return found

    await once()
    return once


def _turn(make: MakeMiddleware, plugins: Sequence[Any]) -> _Run:
    """A function that runs turns of an agent, and returns the processor time of one."""
    graph = agent(["1 + 1"], make("turn", plugins=plugins))

    async def turn() -> float:
        begun = time.process_time()
        for _ in range(_TURNS):
            await ask(graph, uuid.uuid4().hex)
        return (time.process_time() - begun) / _TURNS

    return turn


def _evals(plugins: Sequence[Any], code: str) -> _Run:
    """A function that runs evals in a warm session, and returns the processor time of one."""
    echo = Bridge(name="host.echo", handler=_echo)
    session = InterpreterStack(plugins=["console", *plugins], bridges=[echo]).session("bench")

    async def evals() -> float:
        begun = time.process_time()
        for _ in range(_EVALS):
            outcome = await session.eval(code)
            if outcome.error is not None:
                raise RuntimeError(outcome.error.message)
        return (time.process_time() - begun) / _EVALS

    return evals


async def _echo(n: int) -> int:
    return n


async def _in_turn(settings: Mapping[str, _Run]) -> list[dict[str, float]]:
    """The times of all settings, round after round; in a round they take turns."""
    rounds: list[dict[str, float]] = []
    for number in range(_ROUNDS):
        one: dict[str, float] = {}
        for name in list(settings) if number % 2 else reversed(settings):
            gc.collect()  # else each setting pays for the garbage of the one before
            gc.disable()
            try:
                one[name] = await settings[name]()
            finally:
                gc.enable()
        rounds.append(one)
    return rounds
