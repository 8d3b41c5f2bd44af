"""Connections of a server on uvicorn: those without an authorized request are few and short."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["BACKLOG", "CONCURRENCY", "Admission", "served_connections"]

#: Connections whose clients have not sent a header; another one ends the oldest. They are more than
#: the others, so that a flood leaves each new client the time to send its header.
_SILENT: Final = 384
#: Connections of which is not known whether their request is authorized; another one ends the
#: oldest.
_STRANGERS: Final = 64
#: Connections of authorized clients that are served at once; open streams count.
_ADMITTED: Final = 256
#: The limit for uvicorn, which counts all connections.
CONCURRENCY: Final = _SILENT + _STRANGERS + _ADMITTED
#: The backlog for uvicorn: asyncio accepts as many connections before it reads from any of them.
BACKLOG: Final = 64
#: Seconds from the first byte that is awaited to the last one of the header.
_HEADER_SECONDS: Final = 10.0
#: Seconds from the header to the answer whether the request is authorized: another server may have
#: to be asked.
_DECISION_SECONDS: Final = 20.0
#: The key of a request's state.
_KEY: Final = "interpstack_http_admission"
_current: ContextVar[Admission | None] = ContextVar("interpstack_http_admission", default=None)


class Admission:
    """Whether the client of one connection has shown that it may use the server."""

    def __init__(self, connection: _Guarded) -> None:
        self._connection = connection

    @staticmethod
    def of(scope: Mapping[str, Any]) -> Admission | None:
        """The admission of the connection of a request; `None` on another server."""
        found = scope.get("state", {}).get(_KEY)
        return found if isinstance(found, Admission) else None

    @staticmethod
    def current() -> Admission | None:
        """The admission that the running task has entered; see `enter`."""
        return _current.get()

    def enter(self) -> None:
        """Let code further inside, in the same task, find the admission by `current`."""
        _current.set(self)

    def grant(self) -> None:
        """Note that a request of the connection is authorized."""
        self._connection.admit()


class _Few:
    """A bounded number of connections of one server, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[_Guarded, None] = OrderedDict()

    def add(self, connection: _Guarded) -> None:
        """Add a connection, and end the oldest ones that are too many."""
        while len(self._known) >= self._most:
            oldest, _ = self._known.popitem(last=False)
            oldest.end()
        self._known[connection] = None

    def discard(self, connection: _Guarded) -> None:
        """Forget a connection."""
        self._known.pop(connection, None)


class _Guarded(H11Protocol):
    """One connection.

    Until a request is authorized, the connection is a stranger's: it is ended when its time is up,
    or when there are too many strangers. Strangers that have sent a header are apart from those
    that are silent. Later requests of an authorized client have the same time for their headers.
    """

    silent: _Few
    asking: _Few
    header_seconds: float
    decision_seconds: float

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.app_state = {**self.app_state, _KEY: Admission(self)}
        self._deadline: asyncio.TimerHandle | None = None
        self._admitted = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.silent.add(self)
        self._within(self.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        if self._deadline is None and (before is None or before.response_complete):
            self._within(self.header_seconds)
        super().data_received(data)
        if self.cycle is before or self.transport.is_closing():
            return
        if self._admitted:
            self._within(None)
        elif before is None:
            self.silent.discard(self)
            self.asking.add(self)
            self._within(self.decision_seconds)

    def admit(self) -> None:
        """Note that a request is authorized."""
        self._admitted = True
        self._leave()

    def end(self) -> None:
        """End the connection at once, whatever its client still has to read."""
        self._leave()
        self.transport.abort()

    def _leave(self) -> None:
        self.silent.discard(self)
        self.asking.discard(self)
        self._within(None)

    def _within(self, seconds: float | None) -> None:
        """Give the client a new time; `None` for any."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.end)

    def _unsupported_upgrade_warning(self) -> None:
        """Answer without a warning, of which everybody could cause any number."""


def served_connections(
    *,
    silent: int = _SILENT,
    strangers: int = _STRANGERS,
    header_seconds: float = _HEADER_SECONDS,
    decision_seconds: float = _DECISION_SECONDS,
) -> type[asyncio.Protocol]:
    """The connections of one server, as `uvicorn.Config(http=…, ws="none")` takes them.

    Args:
        silent: Connections without a whole header.
        strangers: Connections with a header whose request is not authorized yet.
        header_seconds: Time for the header of a request.
        decision_seconds: Time from the header until `Admission.grant`.
    """
    own = {
        "silent": _Few(silent),
        "asking": _Few(strangers),
        "header_seconds": header_seconds,
        "decision_seconds": decision_seconds,
    }
    return type("Connections", (_Guarded,), own)
