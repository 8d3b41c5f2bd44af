"""A client for servers that are reached over HTTP, with limits on what they send."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

import anyio
import attrs
import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.streamable_http import MCP_SESSION_ID, RequestContext, StreamableHTTPTransport
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage
from mcp.types import (
    CONNECTION_CLOSED,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from interpstack_mcp.configuration import HttpServer
from interpstack_mcp.connections.causes import in_words, printable
from interpstack_mcp.connections.counted import TooManyValues, ValueCount
from interpstack_mcp.connections.failures import (
    HttpFailed,
    Lost,
    Rejected,
    SessionExpired,
    Unavailable,
    failed_request,
)
from interpstack_mcp.connections.messages import read_message
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.oauth.settings import LoginNeeded

__all__ = ["http_transport"]

_log = logging.getLogger("interpstack.mcp")
_CONNECT_SECONDS: Final = 30.0
#: Statuses of responses that hold an answer: all of success but 202.
_ANSWERED: Final = frozenset({*range(200, 300)} - {202})
_ACCEPTED, _ERRORS, _UNAUTHORIZED, _FORBIDDEN, _GONE = 202, 400, 401, 403, 404
#: Failures of a request that did not reach the server.
_NOT_SENT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)
#: Characters of the text of a response with the status of an error.
_TEXT_CHARS: Final = 500
#: Characters of an id that a server has sent.
_ID_CHARS: Final = 40
_JSON: Final = "application/json"
_STREAM: Final = "text/event-stream"
_EVENT_END: Final = re.compile(rb"\r?\n\r?\n")
#: The encoding of bodies that are not compressed.
_PLAIN: Final = "identity"


@attrs.define(eq=False)
class _SentMessage:
    """What is known of the HTTP request that carries one message.

    Attributes:
        request: The id of the message's request; `None` for other messages.
        status: The status of the last response.
        failure: Why the response is no answer of the protocol; `None` while it may be one.
        refused: Why this side reads no more of the response.
    """

    request: str | int | None
    status: int = 0
    failure: Exception | None = None
    refused: str = ""

    def begin(self, status: int) -> None:
        """Note a response, which takes the place of the one before it."""
        self.status, self.failure, self.refused = status, None, ""

    def fail(self, failure: Exception | None) -> None:
        """Note why the response is no answer of the protocol; `None` if it may be one."""
        self.failure = failure

    def refuse(self, why: str) -> None:
        """Note why this side reads no more of the response."""
        self.refused = why


#: The message that the running task sends; hooks and bodies run in the same task.
_post: ContextVar[_SentMessage | None] = ContextVar("interpstack_mcp_post", default=None)


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
            raise _refused("the server compressed its answer, although it was asked not to")
        async for chunk in self.stream:
            self._read += len(chunk)
            if self.most is not None and self._read > self.most:
                raise _refused(f"the answer has more than {self.most} bytes")
            try:
                self._count(chunk)
            except TooManyValues as error:
                raise _refused(str(error)) from error
            yield chunk

    def _count(self, chunk: bytes) -> None:
        for number, part in enumerate(_EVENT_END.split(chunk) if self.most is None else [chunk]):
            if number:
                self.values.begin()
            self.values.add(part)

    async def aclose(self) -> None:
        await self.stream.aclose()


def _refused(why: str) -> httpx2.StreamError:
    post = _post.get()
    if post is not None:
        post.refuse(why)
    return httpx2.StreamError(why)


def _checked(
    limits: McpLimits, *, authorized: bool
) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook that bounds responses, and notes those that are no answers of the protocol."""

    async def check(response: httpx2.Response) -> None:
        # A stream of events may go on for the life of the connection.
        type_ = response.headers.get("content-type", "").lower()
        events = type_.startswith(_STREAM)
        plain = response.headers.get("content-encoding", _PLAIN).lower() == _PLAIN
        response.stream = _Bounded(
            response.stream,
            None if events else limits.message_bytes,
            ValueCount(limits.message_values),
            plain=plain,
        )
        post = _post.get()
        if post is None or not _is_message(response.request):
            return
        post.begin(response.status_code)
        if response.status_code >= _ERRORS:
            with suppress(httpx2.StreamError, httpx2.TransportError):
                await response.aread()
            post.fail(_http_failure(response, authorized=authorized))
        elif post.status in _ANSWERED and not events and not type_.startswith(_JSON):
            what = f"its content type is {printable(type_)[:100] or 'missing'}"
            if "content-length" in response.headers:  # others may have no end
                with suppress(httpx2.StreamError, httpx2.TransportError):
                    await response.aread()
            said = _shown(_body(response))
            text = f"; its text is {said}" if said else ""
            post.fail(Rejected(f"{_status(response)}: {what}, which is not of MCP{text}"))

    return check


def _is_message(request: httpx2.Request) -> bool:
    """Whether a request carries a message of the protocol; an authorization makes others."""
    return request.method == "POST" and _STREAM in request.headers.get("accept", "")


def _unauthorized(failure: Exception | None, error: Exception) -> Exception:
    """The failure of a request whose authorization failed, after a response or before."""
    failed: Exception = Unavailable(str(error))
    if isinstance(failure, HttpFailed):
        failed = HttpFailed(f"{failure}; {error}", failure.status, failure.of_session)
    failed.__cause__ = error
    return failed


def _http_failure(response: httpx2.Response, *, authorized: bool) -> Exception | None:
    """The failure that a response with the status of an error is; `None` for a server's answer."""
    status, of_session = response.status_code, MCP_SESSION_ID in response.request.headers
    body = _body(response)
    error = _error_in(body)
    said = _shown(error or body)
    text = f"{_status(response)}{f': {said}' if said else ''}"
    if status == _GONE and of_session:
        return SessionExpired(f"its session has expired ({text})")
    if status == _UNAUTHORIZED and not authorized:
        why = "pass a token under 'headers', or log in with 'oauth', in the configuration"
        return HttpFailed(f"{text}; {why}", status, of_session)
    if error is not None and status not in (_UNAUTHORIZED, _FORBIDDEN):
        return None
    return HttpFailed(text, status, of_session)


def _body(response: httpx2.Response) -> bytes:
    """What was read of a response; nothing if it was too long, or the connection broke."""
    try:
        return response.content
    except httpx2.ResponseNotRead:
        return b""


def _shown(text: bytes | str) -> str:
    """The beginning of a server's text, in one line."""
    whole = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return printable(" ".join(whole[: 4 * _TEXT_CHARS].split()))[:_TEXT_CHARS]


def _error_in(body: bytes) -> str | None:
    """The message of the server's error of the protocol; `None` if the body has none."""
    try:
        message = jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValueError:
        return None
    return message.error.message if isinstance(message, JSONRPCError) else None


def _status(response: httpx2.Response) -> str:
    return f"HTTP {response.status_code} {response.reason_phrase}".strip()


@attrs.define(eq=False)
class _Replies:
    """The stream of messages from the server, for one request: failures take the place of errors.

    Attributes:
        stream: Takes the messages.
        post: What is known of the request.
    """

    stream: Any
    post: _SentMessage

    async def send(self, item: Any) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        if self.post.failure is not None and isinstance(message, JSONRPCError):
            code, failure = message.error.code, self.post.failure
            item = SessionMessage(failed_request(message.id or 0, failure, code))
        await self.stream.send(item)


class _Transport(StreamableHTTPTransport):
    """The SDK's transport, whose own errors are failures, and never errors of a server.

    The SDK reports a stream that ended, a body that is not JSON and each status of HTTP as an error
    with a code that a server may send, too. It has no public place for another report, so this
    class overrides the methods that make these errors; `test_http.py` covers each of them.
    """

    async def _handle_post_request(self, ctx: RequestContext) -> None:
        message = ctx.session_message.message
        post = _SentMessage(message.id if isinstance(message, JSONRPCRequest) else None)
        token = _post.set(post)
        replies: Any = _Replies(ctx.read_stream_writer, post)
        try:
            await super()._handle_post_request(replace(ctx, read_stream_writer=replies))
        except httpx2.HTTPError as error:
            if post.request is None:
                _log.debug("a notification was not sent: %s", in_words(error))
                return
            failed: Exception = Lost(f"the connection to the server was lost ({in_words(error)})")
            if isinstance(error, _NOT_SENT) or not _is_message(error.request):
                failed = Unavailable(in_words(error))
            await ctx.read_stream_writer.send(SessionMessage(failed_request(post.request, failed)))
        except (LoginNeeded, OAuthFlowError) as error:
            if post.request is None:
                _log.debug("a notification was not sent: %s", error)
                return
            failed = _unauthorized(post.failure, error)
            await ctx.read_stream_writer.send(SessionMessage(failed_request(post.request, failed)))
        finally:
            _post.reset(token)

    async def _resolve_abandoned_request(
        self,
        read_stream_writer: Any,
        request_id: str | int,
        message: str,
        *,
        code: int = CONNECTION_CLOSED,
    ) -> None:
        post = _post.get()
        failure: Exception = Lost(f"the connection to the server was lost ({message})")
        if post is not None and post.refused:
            failure = Rejected(post.refused)
        elif post is not None and post.status == _ACCEPTED:
            failure = Lost(f"HTTP {_ACCEPTED}: the server sends no answer to the request")
        elif code != CONNECTION_CLOSED:  # a redirect to another place
            failure = Unavailable(message)
        failed = SessionMessage(failed_request(request_id, failure, code))
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await read_stream_writer.send(failed)

    async def _handle_json_response(
        self, response: httpx2.Response, read_stream_writer: Any, *, request_id: str | int
    ) -> None:
        found: SessionMessage | Exception
        try:
            found = read_message(await response.aread())
        except httpx2.StreamError as error:
            found = Rejected(str(error))
        answer = _answer(found, request_id)
        await read_stream_writer.send(answer or _no_answer(found, request_id, _body(response)))

    async def _handle_sse_event(
        self,
        sse: httpx2.ServerSentEvent,
        read_stream_writer: Any,
        original_request_id: str | int | None = None,
        resumption_callback: Callable[[str], Awaitable[None]] | None = None,
    ) -> bool:
        if sse.event != "message":
            return False
        answer: SessionMessage | None = None
        if sse.data:
            found = read_message(sse.data)
            answer = _answer(found, original_request_id)
            if answer is None and isinstance(found, Exception):
                if original_request_id is None or '"method"' in sse.data:
                    return False  # a malformed notification, or nobody's answer
                answer = _no_answer(found, original_request_id, sse.data)
            await read_stream_writer.send(answer or found)
        if sse.id and resumption_callback:
            await resumption_callback(sse.id)
        return answer is not None


def _answer(found: SessionMessage | Exception, request: str | int | None) -> SessionMessage | None:
    """The answer to the request whose response it comes in; `None` if a message is no answer.

    An error without an id is of a server that could not read the id. An answer to another request
    says nothing about this one.
    """
    message = found.message if isinstance(found, SessionMessage) else None
    if not isinstance(message, (JSONRPCResponse, JSONRPCError)):
        return None
    if request is None or message.id == request:
        return SessionMessage(message)
    if message.id is None or str(message.id) == str(request):
        return SessionMessage(message.model_copy(update={"id": request}))
    theirs = printable(str(message.id))[:_ID_CHARS]
    why = f"it has the id of another request ({theirs}, and not {request})"
    return SessionMessage(failed_request(request, Rejected(why)))


def _no_answer(
    found: SessionMessage | Exception, request: str | int, text: bytes | str
) -> SessionMessage:
    said = _shown(text)
    why = f"it is not a message of the protocol: {said}" if said else "it is empty"
    why = str(found) if isinstance(found, Rejected) else why
    return SessionMessage(failed_request(request, Rejected(why)))


@asynccontextmanager
async def _streams(
    url: str, client: httpx2.AsyncClient, most: int
) -> AsyncIterator[tuple[Any, Any]]:
    """The SDK's `streamable_http_client` with the transport above, which it cannot be given."""
    transport = _Transport(url, max_sse_event_size=most)
    incoming_end, incoming = create_context_streams[SessionMessage | Exception](0)
    outgoing, outgoing_end = create_context_streams[SessionMessage](0)
    async with (
        incoming_end,
        incoming,
        outgoing,
        outgoing_end,
        anyio.create_task_group() as tasks,
    ):

        def listen() -> None:
            tasks.start_soon(transport.handle_get_stream, client, incoming_end)

        writing = (client, outgoing_end, incoming_end, outgoing, listen, tasks)
        tasks.start_soon(transport.post_writer, *writing)
        try:
            yield incoming, outgoing
        finally:
            if transport.session_id:
                await transport.terminate_session(client)
            tasks.cancel_scope.cancel()


def _auth(server: HttpServer) -> httpx2.Auth | None:
    auth: httpx2.Auth | None = server.auth
    if auth is None and server.oauth is not None:
        from interpstack_mcp.oauth.providers import authorized  # few servers need it

        return authorized(server.name, server.url, server.oauth)
    return auth


@asynccontextmanager
async def http_transport(server: HttpServer, limits: McpLimits) -> AsyncIterator[tuple[Any, Any]]:
    """Exchange messages with a server by streamable HTTP.

    Args:
        server: The server.
        limits: Limits of one message, and of the time for which a response may send nothing.
    """
    auth = _auth(server)
    client = httpx2.AsyncClient(
        headers={"Accept-Encoding": _PLAIN, **server.headers},
        auth=auth,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=limits.call_seconds),
        event_hooks={"response": [_checked(limits, authorized=auth is not None)]},
    )
    async with client, _streams(server.url, client, limits.message_bytes) as streams:
        yield streams
