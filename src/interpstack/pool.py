"""The sessions of a stack: a bounded number live, the rest hibernated."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from interpstack.errors import ConfigurationError, SessionClosed
from interpstack.flights import Flights
from interpstack.sessions import Session

if TYPE_CHECKING:
    from interpstack.stack import InterpreterStack

__all__ = ["SessionPool"]


class SessionPool:
    """All sessions of a stack: a bounded number live, the rest hibernated.

    Attributes:
        stack: Whose sessions they are.
        flights: Calls of their cells that pauses left alone.
    """

    def __init__(self, stack: InterpreterStack, max_live: int) -> None:
        self.stack = stack
        self.flights = Flights()
        self._max_live = max_live
        self._sessions: dict[str, Session] = {}
        self._used: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    def session(self, key: str | None) -> Session:
        """The session of this key, made on first use."""
        if key is not None and (not isinstance(key, str) or not key):
            raise ConfigurationError(f"a session key is a non-empty string; got {key!r}")
        with self._lock:
            if self._closed:
                raise SessionClosed("the stack was closed; make a new InterpreterStack")
            name = key or f"anonymous-{os.urandom(8).hex()}"
            if name not in self._sessions:
                self._sessions[name] = Session(self, name, anonymous=key is None)
            return self._sessions[name]

    def touch(self, session: Session) -> None:
        """Note that a session has just been used."""
        with self._lock:
            self._used[session.key] = session
            self._used.move_to_end(session.key)

    def forget(self, session: Session) -> None:
        """Drop a closed session."""
        with self._lock:
            if self._sessions.get(session.key) is session:
                del self._sessions[session.key]
                self._used.pop(session.key, None)

    async def trim(self) -> None:
        """Hibernate the live sessions idle longest, down to the bound."""
        with self._lock:
            surplus = len(self._used) - self._max_live
            idle = [s for s in self._used.values() if not s.in_use][: max(0, surplus)]
        for session in idle:
            if await session.hibernate():
                with self._lock:
                    if not session.live:
                        self._used.pop(session.key, None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            sessions = list(self._sessions.values())
        for session in sessions:
            session.close()
