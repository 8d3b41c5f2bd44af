"""The sessions of a stack: a bounded number live, the rest hibernated."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import OrderedDict

from interpstack.contracts.errors import ConfigurationError, SessionClosed
from interpstack.contracts.views import StackView
from interpstack.sessions.session import Session
from interpstack.threads import start_anew_after_fork

__all__ = ["SessionPool"]

_log = logging.getLogger(__name__)


class SessionPool:
    """All sessions of one `stack`."""

    def __init__(self, stack: StackView, max_live: int) -> None:
        self.stack = stack
        self._max_live = max_live
        self._sessions: dict[str, Session] = {}
        self._used: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.RLock()
        self._closed = False
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """After a fork, in the child: running cells continue in the parent, without this lock."""
        self._lock = threading.RLock()

    def session(self, key: str | None) -> Session:
        """The session of this key, made on first use."""
        if key is not None and (not isinstance(key, str) or not key):
            raise ConfigurationError(f"a session key is a non-empty string; got {key!r}")
        with self._lock:
            if self._closed:
                raise SessionClosed("the stack was closed; make a new InterpreterStack")
            name = key or f"anonymous-{os.urandom(8).hex()}"
            if name not in self._sessions:
                session = Session(self, name, anonymous=key is None)
                self.stack.hook.interpstack_session_opened(session=session)
                self._sessions[name] = session
            return self._sessions[name]

    def touch(self, key: str) -> None:
        """Note that a session has just been used."""
        with self._lock:
            if key in self._sessions:
                self._used[key] = self._sessions[key]
                self._used.move_to_end(key)

    def forget(self, session: Session) -> None:
        """Drop a closed session."""
        with self._lock:
            if self._sessions.get(session.key) is session:
                del self._sessions[session.key]
                self._used.pop(session.key, None)

    async def trim(self) -> None:
        """Hibernate the live sessions idle longest, down to the bound, with all who do so now."""
        taken: list[Session] = []
        try:
            while (session := self._idlest(taken)) is not None:
                # What is wrong with it, its own next cell tells; it need not concern this one.
                try:
                    await session.hibernate()
                except Exception:  # noqa: BLE001 - of any engine or plugin
                    _log.warning("session %r could not hibernate", session.key, exc_info=True)
        finally:  # whatever is live still counts, if this is cancelled, too
            with self._lock:
                known = {s.key: s for s in taken if s.live and self._sessions.get(s.key) is s}
                self._used = known | self._used if known else self._used

    def _idlest(self, taken: list[Session]) -> Session | None:
        """Take the session idle longest, if too many are live; counted out, before others count."""
        if len(self._used) <= self._max_live:
            return None
        with self._lock:
            for key in [key for key, session in self._used.items() if not session.live]:
                del self._used[key]
            idle = (s for s in self._used.values() if not s.in_use)
            session = next(idle, None) if len(self._used) > self._max_live else None
            if session is not None:
                taken.append(self._used.pop(session.key))
            return session

    async def aclose(self) -> None:
        """Close all sessions, each after the cells that wait in it.

        Raises:
            ConfigurationError: Some cannot be closed from here; the others are.
        """
        with self._lock:
            self._closed = True
            sessions = list(self._sessions.values())
        ends = await asyncio.gather(*(s.aclose() for s in sessions), return_exceptions=True)
        for error in filter(None, ends):
            raise error
