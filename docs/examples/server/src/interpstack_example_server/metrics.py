"""Metrics for Prometheus, of all workers together."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

__all__ = ["LIMITED", "MISSED", "Measure", "measured", "page"]

_TURNS = Counter("agent_turns", "Turns that have ended.", ["end"])
_SECONDS = Histogram("agent_turn_seconds", "Seconds of a turn, with waiting for its thread.")
_RUNNING = Gauge("agent_turns_running", "Turns that run.", multiprocess_mode="livesum")
MISSED = Counter("agent_events_missed", "Progress events that slow clients did not receive.")


LIMITED = Counter("agent_turns_limited", "Turns that were refused, as a user had too many.")


@attrs.define
class Measure:
    """How a turn ends: "answered", "asked", "cancelled" or "failed"."""

    end: str = "failed"


@contextmanager
def measured() -> Iterator[Measure]:
    """Measure a turn, whose end the block notes."""
    begun, measure = time.monotonic(), Measure()
    _RUNNING.inc()
    try:
        yield measure
    except asyncio.CancelledError:
        measure.end = "cancelled"
        raise
    finally:
        _RUNNING.dec()
        _TURNS.labels(measure.end).inc()
        _SECONDS.observe(time.monotonic() - begun)


def page() -> bytes:
    """The metrics in Prometheus's text format."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)
    return generate_latest(registry)
