"""A client for servers that are reached over HTTP, with limits on what they send."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final

import attrs
import httpx2
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client

from interpstack_mcp.configuration import HttpServer
from interpstack_mcp.connections.counted import TooManyValues, ValueCount
from interpstack_mcp.limits import McpLimits

__all__ = ["http_transport", "own_request"]

_log = logging.getLogger("interpstack.mcp")
_sdk_log = logging.getLogger("mcp.client.streamable_http")
#: Whether the SDK works for a connection that was made here.
_own: ContextVar[bool] = ContextVar("interpstack_mcp_own_connection", default=False)
_CONNECT_SECONDS: Final = 30.0
_GONE: Final = 404
_STREAM: Final = "text/event-stream"
_EVENT_END: Final = re.compile(rb"\r?\n\r?\n")
#: The encoding of bodies that are not compressed.
_PLAIN: Final = "identity"


@attrs.define(eq=False)
class _Bounded(httpx2.AsyncByteStream):
    """The body of a response: one message, or events with one message each.

    Attributes:
        stream: The body.
        most: Bytes of the body; `None` for events, which the SDK bounds one by one.
        values: The values of the message that is being read.
        plain: Whether it is not compressed. A few compressed bytes hold any number of bytes, which
            are read at once.
    """

    stream: Any
    most: int | None
    values: ValueCount
    plain: bool = attrs.field(kw_only=True)
    _read: int = attrs.field(default=0, init=False)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not self.plain:
            raise httpx2.StreamError(
                "the server compressed its answer, although it was asked not to"
            )
        async for chunk in self.stream:
            self._read += len(chunk)
            if self.most is not None and self._read > self.most:
                raise httpx2.StreamError(f"the answer has more than {self.most} bytes")
            try:
                self._count(chunk)
            except TooManyValues as error:
                raise httpx2.StreamError(str(error)) from error
            yield chunk

    def _count(self, chunk: bytes) -> None:
        for number, part in enumerate(_EVENT_END.split(chunk) if self.most is None else [chunk]):
            if number:
                self.values.begin()
            self.values.add(part)

    async def aclose(self) -> None:
        await self.stream.aclose()


def _checked(
    limits: McpLimits, ended: Callable[[], None]
) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook that bounds responses, and notices when the server has forgotten the session."""

    async def check(response: httpx2.Response) -> None:
        if response.status_code == _GONE and MCP_SESSION_ID in response.request.headers:
            ended()
        # A stream of events may go on for the life of the connection.
        events = response.headers.get("content-type", "").lower().startswith(_STREAM)
        plain = response.headers.get("content-encoding", _PLAIN).lower() == _PLAIN
        response.stream = _Bounded(
            response.stream,
            None if events else limits.message_bytes,
            ValueCount(limits.message_values),
            plain=plain,
        )

    return check


def _auth(server: HttpServer) -> httpx2.Auth | None:
    auth: httpx2.Auth | None = server.auth
    if auth is None and server.oauth is not None:
        from interpstack_mcp.oauth.providers import authorized  # few servers need it

        return authorized(server.name, server.url, server.oauth)
    return auth


def _moved_to_debug(record: logging.LogRecord) -> bool:
    """Whether the SDK logs a record itself: faults of servers here are told to code or in a notice.

    Without a handler for logs, Python would write each of them with its stack to standard error.
    """
    if not _own.get():
        return True
    _log.debug("the MCP SDK logs: %s", record.getMessage(), exc_info=record.exc_info)
    return False


@contextmanager
def own_request() -> Iterator[None]:
    """A block that makes a request: the SDK sends each in the context of its maker."""
    token = _own.set(True)
    try:
        yield
    finally:
        _own.reset(token)


@asynccontextmanager
async def http_transport(
    server: HttpServer, limits: McpLimits, ended: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Exchange messages with a server by streamable HTTP.

    Args:
        server: The server.
        limits: Limits of one message, and of the time for which a response may send nothing.
        ended: Called when the server has forgotten the session.
    """
    if _moved_to_debug not in _sdk_log.filters:
        _sdk_log.addFilter(_moved_to_debug)
    _own.set(True)
    client = httpx2.AsyncClient(
        headers={"Accept-Encoding": _PLAIN, **server.headers},
        auth=_auth(server),
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=limits.call_seconds),
        event_hooks={"response": [_checked(limits, ended)]},
    )
    async with (
        client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=limits.message_bytes
        ) as streams,
    ):
        yield streams
