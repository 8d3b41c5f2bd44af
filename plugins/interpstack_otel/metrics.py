"""The instruments of all metrics, made as `names.METRICS` describes them."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from interpstack import Session
from interpstack_otel.names import METRICS

__all__ = ["Instruments", "Sessions"]

#: The one metric that is read when it is exported.
_SESSIONS: Final = "interpstack.sessions"


class Sessions:
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
        """Sessions by the engine's name and the state: `new`, `live` or `asleep`."""
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
    return "asleep" if session.cells else "new"


class Instruments:
    """The instruments of one meter.

    Args:
        meter: Makes them.
        sessions: The sessions to count.
    """

    def __init__(self, meter: Meter, sessions: Sessions) -> None:
        self._by_name: dict[str, Callable[..., None]] = {}
        for name, metric in METRICS.items():
            unit, description = metric.unit, metric.description
            if name == _SESSIONS:
                meter.create_observable_up_down_counter(
                    name, [sessions.observe], unit=unit, description=description
                )
            elif metric.kind == "histogram":
                self._by_name[name] = meter.create_histogram(
                    name, unit=unit, description=description
                ).record
            elif metric.kind == "counter":
                self._by_name[name] = meter.create_counter(
                    name, unit=unit, description=description
                ).add
            else:
                self._by_name[name] = meter.create_up_down_counter(
                    name, unit=unit, description=description
                ).add

    def add(self, name: str, amount: float, attributes: Mapping[str, str] | None = None) -> None:
        """Add an amount to a counter, or record it in a histogram.

        Args:
            name: The metric.
            amount: The amount.
            attributes: The attributes of the point, by their names.
        """
        self._by_name[name](amount, attributes)
