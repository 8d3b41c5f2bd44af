"""Instruments, and the states of sessions."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import threading

import pytest
from traces import Traces

from interpstack import InterpreterStack
from interpstack_otel.api import OpenTelemetry
from interpstack_otel.metrics import OpenSessions

LIVE = {"interpstack.session.state": "live"}


async def test_sessions_are_counted_by_state(traces: Traces) -> None:
    async with InterpreterStack(plugins=[traces.plugin], max_live_sessions=1) as stack:
        first, second = stack.session("first"), stack.session("second")
        stack.session("third")
        await first.eval("1")
        await second.eval("1")
        states = {
            point["interpstack.session.state"]: value
            for point, value in traces.points("interpstack.sessions")
        }
        assert states == {"new": 1, "hibernated": 1, "live": 1}
        await first.aclose()
        assert sum(value for _, value in traces.points("interpstack.sessions")) == 2
    assert traces.points("interpstack.sessions") == []


def test_a_session_that_nobody_closes_is_not_kept() -> None:
    sessions = OpenSessions()
    sessions.add(InterpreterStack().session("lost"))
    gc.collect()
    assert sessions.states() == {}


async def test_plugin_objects_with_one_provider_count_together(traces: Traces) -> None:
    other = OpenTelemetry(meter_provider=traces.meters, tracer_provider=traces.tracers)
    for plugin in (traces.plugin, other):
        async with InterpreterStack(plugins=[plugin]).session() as session:
            await session.eval("1")
            live = {**LIVE, "interpstack.engine.name": "quickjs"}
            assert traces.points("interpstack.sessions") == [(live, 1)]
    assert [value for _, value in traces.points("interpstack.crossings")] == [2]


def test_the_provider_of_the_process_is_one_whether_named_or_not() -> None:
    code = """
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from interpstack import InterpreterStack
from interpstack_otel.api import OpenTelemetry
early = OpenTelemetry()
reader = InMemoryMetricReader()
provider = MeterProvider([reader])
metrics.set_meter_provider(provider)
for plugin in ("otel", early, OpenTelemetry(), OpenTelemetry(meter_provider=provider)):
    with InterpreterStack(plugins=[plugin]) as stack, stack.session() as session:
        session.eval_sync("1")
        found = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
        points = {one.name: one.data.data_points for one in found}
        print(points["interpstack.sessions"][0].value, points["interpstack.crossings"][0].value)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1 1", "1 2", "1 3", "1 4"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_counts_although_another_thread_counted_at_the_fork(traces: Traces) -> None:
    instruments, stop = traces.plugin._telemetry.instruments, threading.Event()

    def count() -> None:
        while not stop.is_set():
            instruments.add("interpstack.limit.hits", 1)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for _ in range(20):
            child = multiprocessing.get_context("fork").Process(
                target=instruments.add, args=("interpstack.limit.hits", 1)
            )
            child.start()
            child.join(60)
            assert child.exitcode == 0
    finally:
        stop.set()
        thread.join()


def test_an_unknown_metric_is_an_error(traces: Traces) -> None:
    with pytest.raises(KeyError):
        traces.plugin._telemetry.instruments.add("interpstack.unknown", 1)
