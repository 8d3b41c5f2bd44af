"""Sessions over HTTP, of which the one idle longest ends when another one begins.

The SDK refuses the session beyond its limit instead, so that clients which went away without a word
would keep all others out until their sessions expire.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["BoundedSessions"]

_SESSION: Final = b"mcp-session-id"
_ERRORS: Final = 400


@attrs.define(eq=False)
class _Session:
    """A session.

    Attributes:
        user: The user who began it, as the SDK knows them.
        used: When it was used last.
        requests: Its open requests, by their method.
    """

    user: Any
    used: float = attrs.field(factory=time.monotonic)
    requests: list[str] = attrs.field(factory=list)

    @contextmanager
    def request(self, method: str) -> Iterator[None]:
        """Note a request while it is open."""
        self.requests.append(method)
        try:
            yield
        finally:
            self.requests.remove(method)
            self.used = time.monotonic()


@attrs.define(eq=False)
class BoundedSessions:
    """The sessions of an application.

    Attributes:
        most: Sessions that may be open.
        is_busy: Whether a session may not be ended.
        end: Handles the request that ends a session, behind the check of its user.
        app: The application.
    """

    most: int
    is_busy: Callable[[str], bool]
    end: Callable[[Scope, Receive, Send], Awaitable[None]]
    app: ASGIApp
    _open: dict[str, _Session] = attrs.field(factory=dict, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        name = _header(scope, _SESSION)
        known = self._open.get(name)
        status, begun = 0, ""

        async def sent(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], _header(message, _SESSION)
                if not name and begun and status < _ERRORS:
                    self._open[begun] = _Session(scope.get("user"))
            await send(message)

        if known is None:
            await self.app(scope, receive, sent)
            return
        with known.request(scope["method"]):
            await self.app(scope, receive, sent)
        if status == 404 or (scope["method"] == "DELETE" and status < _ERRORS):
            self._open.pop(name, None)

    async def make_room(self, host: str) -> None:
        """End the session idle longest, if another one would be too many.

        Args:
            host: A value of the header `Host` that the application accepts.
        """
        while len(self._open) >= self.most and (idle := self._idle()):
            session = self._open.pop(idle)
            headers = [(b"host", host.encode()), (_SESSION, idle.encode())]
            scope = {
                "type": "http",
                "http_version": "1.1",
                "method": "DELETE",
                "scheme": "http",
                "path": "/mcp",
                "raw_path": b"/mcp",
                "root_path": "",
                "query_string": b"",
                "headers": headers,
                **({} if session.user is None else {"user": session.user}),
            }
            await self.end(scope, _nothing, _unheard)

    def _idle(self) -> str:
        """The session idle longest, first of those without a stream of events; empty for none."""
        idle = [
            (bool(one.requests), one.used, name)
            for name, one in self._open.items()
            if {*one.requests} <= {"GET"} and not self.is_busy(name)
        ]
        return str(min(idle)[2]) if idle else ""


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(message: Message) -> None:
    pass


def _header(message: Any, name: bytes) -> str:
    value: bytes = dict(message.get("headers", ())).get(name, b"")
    return value.decode("latin-1")
