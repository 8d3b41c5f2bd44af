"""A client for servers that are reached over HTTP, with limits on what they send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs
import httpx2
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client

from interpstack_mcp.configuration import HttpServer

__all__ = ["http_transport"]

_CONNECT_SECONDS: Final = 30.0
_GONE: Final = 404
_STREAM: Final = "text/event-stream"


@attrs.define(eq=False)
class _Bounded(httpx2.AsyncByteStream):
    """The body of a response, up to a number of bytes."""

    stream: Any
    most: int
    _read: int = attrs.field(default=0, init=False)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.stream:
            self._read += len(chunk)
            if self._read > self.most:
                raise httpx2.StreamError(f"the answer has more than {self.most} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self.stream.aclose()


def _checked(most: int, ended: Callable[[], None]) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook that bounds responses, and notices when the server has forgotten the session."""

    async def check(response: httpx2.Response) -> None:
        if response.status_code == _GONE and MCP_SESSION_ID in response.request.headers:
            ended()
        # The SDK bounds each event of a stream, which may go on for the life of the connection.
        if not response.headers.get("content-type", "").lower().startswith(_STREAM):
            response.stream = _Bounded(response.stream, most)

    return check


def _auth(server: HttpServer) -> httpx2.Auth | None:
    auth: httpx2.Auth | None = server.auth
    if auth is None and server.oauth is not None:
        from interpstack_mcp.oauth.providers import authorized  # few servers need it

        return authorized(server.name, server.url, server.oauth)
    return auth


@asynccontextmanager
async def http_transport(
    server: HttpServer, message_bytes: int, call_seconds: float, ended: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Exchange messages with a server by streamable HTTP.

    Args:
        server: The server.
        message_bytes: Bytes of one message.
        call_seconds: Seconds for which a response may send nothing.
        ended: Called when the server has forgotten the session.
    """
    client = httpx2.AsyncClient(
        headers=dict(server.headers),
        auth=_auth(server),
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=call_seconds),
        event_hooks={"response": [_checked(message_bytes, ended)]},
    )
    async with (
        client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=message_bytes
        ) as streams,
    ):
        yield streams
