"""Instruments, and the states of sessions."""

from __future__ import annotations

import gc

import pytest
from traces import Traces

from interpstack import InterpreterStack
from interpstack_otel.metrics import Sessions


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
        assert states == {"new": 1, "asleep": 1, "live": 1}
        await first.aclose()
        assert sum(value for _, value in traces.points("interpstack.sessions")) == 2
    assert traces.points("interpstack.sessions") == []


def test_a_session_that_nobody_closes_is_not_kept() -> None:
    sessions = Sessions()
    sessions.add(InterpreterStack().session("lost"))
    gc.collect()
    assert sessions.states() == {}


def test_an_unknown_metric_is_an_error(traces: Traces) -> None:
    with pytest.raises(KeyError):
        traces.plugin._telemetry.instruments.add("interpstack.unknown", 1)
