"""The instruments of all metrics, made as `names.METRICS` describes them.

Counters are plain numbers that a reader of metrics collects: an eval or a call only adds to them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation

from interpstack import Session, __version__
from interpstack_otel.names import METRICS, SCOPE

__all__ = ["Instruments", "OpenSessions"]

#: The metric that is not a sum of amounts.
_SESSIONS: Final = "interpstack.sessions"
_Attributes = frozenset[tuple[str, str]]
#: Guards all totals: evals run on any event loop and thread.
_lock: Final = threading.Lock()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class _Process:
    """A key for the provider of the process."""


_PROCESS: Final = _Process()


class OpenSessions:
    """The open sessions of all stacks with the plugin; holds none of them alive."""

    def __init__(self) -> None:
        # Plain dicts: a metric reader copies them in its own thread, without a lock.
        self._open: dict[int, weakref.ref[Session]] = {}

    def add(self, session: Session) -> None:
        """Count a session from now on."""
        key = id(session)
        self._open[key] = weakref.ref(session, lambda _: self._open.pop(key, None))

    def remove(self, session: Session) -> None:
        """Count a closed session no more."""
        self._open.pop(id(session), None)

    def states(self) -> Counter[tuple[str, str]]:
        """Sessions by the engine's name and the state: `new`, `live` or `hibernated`."""
        sessions = [ref() for ref in tuple(self._open.values())]
        return Counter((s.stack.engine.name, _state(s)) for s in sessions if s is not None)

    def observe(self, options: CallbackOptions) -> Iterable[Observation]:
        """The points of the metric of sessions."""
        for (engine, state), count in self.states().items():
            attributes = {"interpstack.engine.name": engine, "interpstack.session.state": state}
            yield Observation(count, attributes)


def _state(session: Session) -> str:
    if session.live:
        return "live"
    return "hibernated" if session.cells else "new"


class Instruments:
    """The instruments of one meter.

    An SDK collects a counter of one name once for each meter, so all plugin objects with one
    provider share these; see `of`.

    Args:
        meter: Makes them.

    Attributes:
        sessions: The sessions to count.
    """

    def __init__(self, meter: Meter) -> None:
        self.sessions = OpenSessions()
        self._record: dict[str, Callable[..., None]] = {}
        self._totals: dict[str, dict[_Attributes, float]] = {}
        for name, metric in METRICS.items():
            unit, description = metric.unit, metric.description
            if metric.kind == "histogram":
                self._record[name] = meter.create_histogram(name, unit, description).record
                continue
            read = self.sessions.observe
            if name != _SESSIONS:
                read = partial(_observe, self._totals.setdefault(name, {}))
            if metric.kind == "counter":
                meter.create_observable_counter(name, [read], unit, description)
            else:
                meter.create_observable_up_down_counter(name, [read], unit, description)

    @classmethod
    def of(cls, provider: MeterProvider | None) -> Instruments:
        """The instruments of a provider; of the process's, which may be set later, for `None`."""
        shared = provider is None or provider is metrics.get_meter_provider()
        owner = _PROCESS if shared else provider
        if owner not in _made:
            _made[owner] = cls(metrics.get_meter(SCOPE, __version__, provider))
        return _made[owner]

    def add(self, name: str, amount: float, attributes: Mapping[str, str] | None = None) -> None:
        """Add an amount to a counter, or record it in a histogram.

        Args:
            name: The metric.
            amount: The amount.
            attributes: The attributes of the point, by their names.
        """
        record = self._record.get(name)
        if record is not None:
            record(amount, attributes)
            return
        totals, key = self._totals[name], frozenset((attributes or {}).items())
        with _lock:
            totals[key] = totals.get(key, 0) + amount


_made: Final[weakref.WeakKeyDictionary[Any, Instruments]] = weakref.WeakKeyDictionary()


def _observe(
    totals: Mapping[_Attributes, float], options: CallbackOptions
) -> Iterator[Observation]:
    with _lock:
        found = tuple(totals.items())
    for attributes, total in found:
        yield Observation(total, dict(attributes))
