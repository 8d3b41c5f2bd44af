"""The connection to one server on one event loop.

A task of its own holds the connection from its start to its end, because the SDK's scopes must be
left by the task that entered them. A lost connection is made again when it is needed next, after a
pause that grows with each failure. A request is sent once: where its answer was lost, it is unknown
whether it had its effects.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Any, Final

import attrs
import mcp
from mcp import types
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from pydantic import RootModel, TypeAdapter, ValidationError

from interpstack import ConfigurationError, __version__
from interpstack_mcp.configuration import HttpServer, Server, StdioServer
from interpstack_mcp.connections.causes import cause_of, in_words, printable
from interpstack_mcp.connections.client_side import ClientSide
from interpstack_mcp.connections.failures import (
    HttpFailed,
    Lost,
    Rejected,
    SessionExpired,
    Unavailable,
    failure_in,
    from_server,
    is_of_server,
)
from interpstack_mcp.connections.following import Following
from interpstack_mcp.connections.http import http_transport
from interpstack_mcp.connections.listing import Listing, listed_tools
from interpstack_mcp.connections.received import ReceivedMessages, checked_messages
from interpstack_mcp.connections.sdk_logs import own_connection, own_request
from interpstack_mcp.connections.stdio import NoFolder, ServerOutput, stdio_transport
from interpstack_mcp.connections.together import Together
from interpstack_mcp.faults import fault_of
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.oauth.settings import LoginNeeded

__all__ = ["ServerConnection"]

_log = logging.getLogger("interpstack.mcp")
#: Seconds before the first and the longest pause between two attempts to connect.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
#: Attempts to reach a server that was reached before, and the longest pause before one of them.
_ATTEMPTS: Final = 5
_PATIENCE_SECONDS: Final = 5.0
#: Seconds after which a connection counts as steady: its loss is no further failure.
_STEADY_SECONDS: Final = 10.0
#: Seconds between two lists of the tools of a server that reports changes all the time.
_RELIST_SECONDS: Final = 1.0
#: Seconds for the answer to the question whether a server knows its session.
_PING_SECONDS: Final = 10.0
#: Seconds in which a connection brings the last answers, after the server has forgotten it.
_LAST_SECONDS: Final = 5.0
#: Statuses, beside 404, with which servers refuse requests of a session that they have forgotten.
_REFUSALS: Final = frozenset({400, 401, 403})
#: Characters of a reason, which may be a server's own words.
_REASON_CHARS: Final = 500
#: Not `ClientSession.call_tool`: that checks answers by the server's schema on the event loop,
#: where a pattern in the schema could keep the host busy without end.
_RESULT: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
#: A request; the class is made once, because pydantic looks each up by its parameters.
_Request: Final = types.Request[dict[str, Any], str]


class _Answer(RootModel[dict[str, Any]]):
    """An answer as the server sent it, once the SDK has checked it."""


@attrs.define(eq=False)
class ServerConnection:
    """One server on one event loop.

    Attributes:
        server: The server.
        limits: Limits of everything that it sends.
        side: The client for which the connection is; `None` for code.
        older: Names of servers that ended, or did not answer, when they were asked for a version
            since 2026; shared by connections, so that a server is asked once.
        listing: Its tools, as of the last list; `None` before the first.
        failure: Why the last attempt to connect failed; empty after a success.
        together: Hands the ends of parallel calls over together.
    """

    server: Server
    limits: McpLimits
    side: ClientSide | None = None
    older: set[str] = attrs.field(factory=set)
    listing: Listing | None = attrs.field(default=None, init=False)
    failure: str = attrs.field(default="", init=False)
    together: Together = attrs.field(factory=Together, init=False)
    _down: Listing | None = attrs.field(default=None, init=False)
    _client: mcp.Client | None = attrs.field(default=None, init=False)
    _output: ServerOutput = attrs.field(
        default=attrs.Factory(lambda self: ServerOutput(self.server.name), takes_self=True),
        init=False,
    )
    _following: Following | None = attrs.field(default=None, init=False)
    _serving: asyncio.Task[None] | None = attrs.field(default=None, init=False)
    _opening: asyncio.Future[None] | None = attrs.field(default=None, init=False)
    _news: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _ended: bool = attrs.field(default=False, init=False)
    _loss: str = attrs.field(default="", init=False)
    _changed: bool = attrs.field(default=False, init=False)
    _requests: int = attrs.field(default=0, init=False)
    _last_seconds: float = attrs.field(default=0.0, init=False)
    _failures: int = attrs.field(default=0, init=False)
    _not_before: float = attrs.field(default=0.0, init=False)
    _closed: bool = attrs.field(default=False, init=False)

    async def ready(self) -> Listing:
        """Connect, unless the connection stands, and return the tools.

        A server that never answered gets one attempt; one that was lost gets more.

        Raises:
            Unavailable: All attempts failed, or the next one may not be made yet.
        """
        known = self.listing is not None
        patience = _PATIENCE_SECONDS if known else 0.0
        for _ in range(_ATTEMPTS if known else 1):
            if self._stands and self.listing is not None:
                return self.listing
            pause = self._not_before - time.monotonic()
            if self._closed or pause > patience:
                break
            await asyncio.sleep(max(pause, 0))
            await self._attempt()
        if self._stands and self.listing is not None:
            return self.listing
        raise Unavailable(self.failure or "its connection was closed")

    async def listed(self) -> Listing:
        """The tools, or the last known ones of a server that cannot be reached."""
        try:
            return await self.ready()
        except Unavailable as error:
            down, fault = self._down or self.listing or Listing(), str(error)
            if down.fault != fault:
                self._down = down = attrs.evolve(down, fault=fault)
            return down

    @property
    def _stands(self) -> bool:
        return self._client is not None and not self._ended

    async def _attempt(self) -> None:
        """Make one attempt to connect, which all callers share."""
        if self._serving is not None and self._ended:
            await asyncio.wait({self._serving})  # the old connection is still being closed
        if self._serving is None or self._serving.done():
            self._ended, self._changed, self._loss = False, False, ""
            self._last_seconds = 0.0
            self._news.clear()
            self._opening = asyncio.get_running_loop().create_future()
            self._serving = asyncio.ensure_future(self._keep(self._opening))
        if self._opening is not None:
            await asyncio.wait({self._opening})

    async def call(
        self, tool: str, arguments: dict[str, Any], key: str, on_progress: ProgressFnT | None
    ) -> types.CallToolResult:
        """Call a tool, once; raises as `request` does.

        Args:
            tool: The tool's name.
            arguments: Plain JSON.
            key: Identifies the call, for the server's own records.
            on_progress: Takes the progress of the call.
        """
        params = {"name": tool, "arguments": arguments, "_meta": _meta(key)}
        answer = await self.request("tools/call", params, on_progress=on_progress)
        result = _RESULT.validate_python(answer, by_name=False)
        if isinstance(result, types.InputRequiredResult):
            raise MCPError(
                types.INVALID_REQUEST, "the server asks for input, which code cannot give"
            )
        return result

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        *,
        seconds: float | None = None,
        on_progress: ProgressFnT | None = None,
    ) -> dict[str, Any]:
        """Send a request, once, and return the answer as the server sent it.

        Args:
            method: The method of the protocol.
            params: Plain JSON.
            seconds: Time for the answer; `None` for that of a call.
            on_progress: Takes the progress of the request.

        Raises:
            Unavailable: The server cannot be reached, or has forgotten the session; the request
                was not run.
            Lost: The connection was lost, or the time was up, before the answer came, or the answer
                was an HTTP status.
            MCPError: The server answered with an error of the protocol.
            ValueError: The answer is not valid in the protocol.
        """
        client = await self.connected()
        seconds = seconds or self.limits.call_seconds
        self._requests += 1
        output, since = self._output, time.monotonic()
        try:
            with own_request():
                answer = await client.session.send_request(
                    _Request(method=method, params=params),
                    _Answer,
                    request_read_timeout_seconds=seconds,
                    progress_callback=on_progress,
                )
        except MCPError as error:
            raise await self._failure(client, error, seconds, output, since) from error
        finally:
            self._requests -= 1
            self._news.set()
        return answer.root

    async def _failure(
        self,
        client: mcp.Client,
        error: MCPError,
        seconds: float,
        output: ServerOutput,
        since: float,
    ) -> Exception:
        """What an error of the SDK means for the request, and for the connection."""
        failure = failure_in(error)
        if failure is None and not is_of_server(error):
            if error.code == types.REQUEST_TIMEOUT:
                return Lost(f"no answer came in {seconds:g} seconds{output.unanswered(since)}")
            self._end()
            why = f" ({self._loss})" if self._loss else ""
            last = await output.last_words(since)
            return Lost(f"the connection to the server was lost{why}{last}")
        if isinstance(failure, Unavailable):  # the same will happen to what is sent from now on
            self._give_up(failure)
            return failure
        if error.code == types.HEADER_MISMATCH:
            self._change()
        if self._may_lack_session(error, failure) and await self._is_refused(client, error):
            text = failure or f"it answers: {printable(error.message)[:_REASON_CHARS]}"
            expired = SessionExpired(f"its session has expired ({text})")
            self._give_up(expired)
            return expired
        return failure or from_server(error)

    def _may_lack_session(self, error: MCPError, failure: Exception | None) -> bool:
        """Whether an error may be that of a server which has forgotten the session.

        Only the status 404 says so. Servers that answer otherwise name the session in the text; it
        does not decide, because a tool may know sessions of its own.
        """
        if not isinstance(self.server, HttpServer):
            return False
        if isinstance(failure, HttpFailed):
            return failure.of_session and failure.status in _REFUSALS
        return failure is None and "session" in error.message.casefold()

    async def _is_refused(self, client: mcp.Client, error: MCPError) -> bool:
        """Whether the server refuses a request without effects for the same reason."""
        if client.session.discover_result is not None:
            return False  # a protocol without sessions
        try:
            with own_request():
                ping = _Request(method="ping", params={})
                await client.session.send_request(ping, _Answer, _PING_SECONDS)
        except MCPError as refused:
            one, other = failure_in(error), failure_in(refused)
            if isinstance(one, HttpFailed) and isinstance(other, HttpFailed):
                return one.status == other.status
            if isinstance(other, SessionExpired):
                return True
            return one is None and other is None and error.code == refused.code
        except ValueError:
            return False
        return False

    async def connected(self) -> mcp.Client:
        """The SDK's client, connected.

        Raises:
            Unavailable: The server cannot be reached.
        """
        await self.ready()
        if self._client is None:
            raise Unavailable(self.failure or "its connection was closed")
        return self._client

    async def listen_again(self) -> None:
        """Listen to the updates of other resources than before, where the protocol has that."""
        if self._following is not None:
            await self._following.again()

    async def aclose(self) -> None:
        """End the connection for good; call it on the connection's own loop."""
        self._closed = True
        self._end()
        if self._serving is not None:
            await asyncio.wait({self._serving})

    def _give_up(self, why: Exception) -> None:
        """End the connection, with a moment in which the requests that are open end as well."""
        self._last_seconds = _LAST_SECONDS
        self._end(str(why))

    def _end(self, why: str = "") -> None:
        self._ended, self._loss = True, self._loss or why
        self._news.set()

    def _change(self) -> None:
        self._changed = True
        self._news.set()

    # -- the task that serves the connection -----------------------------------------------

    async def _keep(self, opening: asyncio.Future[None]) -> None:
        """Hold the connection, from its start until it is lost or closed."""
        own_connection()
        self._output, since = ServerOutput(self.server.name), math.inf
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.limits.connect_seconds):
                    client, received = await self._opened(stack)
                    self.listing, self._down = await listed_tools(client, received), None
                    if self.side is not None:
                        await self.side.opened(client)
                self._client, self.failure, since = client, "", time.monotonic()
                opening.set_result(None)
                await self._watch(client, received)
        except Exception as error:  # noqa: BLE001 - of the SDK, of httpx and of the server
            self._note(Unavailable(self._loss) if self._loss else error, since)
        else:
            if not self._closed:
                self._note(Unavailable(self._loss or "the connection was lost"), since)
        finally:
            self._ended, self._client = True, None
            if not opening.done():
                opening.set_result(None)

    async def _opened(self, stack: AsyncExitStack) -> tuple[mcp.Client, ReceivedMessages]:
        """Connect; again with the older handshake if the server ends before it names its version.

        Some servers end when their first message is not `initialize`.
        """
        name, received = self.server.name, ReceivedMessages(self.limits, self.server.name)
        if name in self.older:
            try:
                made = self._made(received, "legacy")
                return await stack.enter_async_context(made), received
            except BaseException:
                self.older.discard(name)
                raise
        try:
            client = await stack.enter_async_context(self._made(received, ""))
        except Exception:
            if not received.probed or self._closed or not isinstance(self.server, StdioServer):
                raise
            self._ended, self._loss = False, ""
            self._news.clear()
            received = ReceivedMessages(self.limits, self.server.name)
            client = await stack.enter_async_context(self._made(received, "legacy"))
            self.older.add(name)
        if received.ignored and client.session.discover_result is None:
            self.older.add(name)
        return client, received

    def _note(self, error: Exception, since: float) -> None:
        """Note the end of a connection; the next one is made after a pause, which grows."""
        if time.monotonic() - since > _STEADY_SECONDS:
            self._failures = 0
        reason = _reason(cause_of(error), self.limits)
        self.failure = f"{reason[:_REASON_CHARS]}{self._output.said}"
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self._failures)
        self._failures = min(self._failures + 1, 20)
        self._not_before = time.monotonic() + pause * random.uniform(0.75, 1)  # noqa: S311
        _log.info("server %s: %s", self.server.name, self.failure)

    def _made(self, received: ReceivedMessages, mode: str) -> mcp.Client:
        transport = _transport(self.server, self.limits, self._output, self._end)
        options = {} if self.side is None else dict(self.side.callbacks)
        return mcp.Client(
            checked_messages(
                transport, received, None if self.side is None else self.side.abilities
            ),
            message_handler=self._heard,
            logging_callback=self._logged if self.side is None else self.side.logged,
            client_info=types.Implementation(name="interpstack", version=__version__),
            cache=None,
            **{**options, **({"mode": mode} if mode else {})},
        )

    async def _heard(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._change()
        if self.side is not None and not isinstance(message, Exception):
            await self.side.heard(message)

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        text = printable(str(params.data)[:_REASON_CHARS])
        _log.debug("server %s logs %s: %s", self.server.name, params.level, text)

    async def _watch(self, client: mcp.Client, received: ReceivedMessages) -> None:
        """Follow changes of the list of tools until the connection is lost or closed."""
        uris = None if self.side is None else self.side.uris
        self._following = Following(client, self._change, uris)
        following = asyncio.ensure_future(self._following.run())
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                if self._ended:
                    await self._until_answered()
                    return
                if self._changed:
                    self._changed = False
                    async with asyncio.timeout(self.limits.connect_seconds):
                        self.listing = await listed_tools(client, received)
                    await asyncio.sleep(_RELIST_SECONDS)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _until_answered(self) -> None:
        """Wait a moment for the answers to open requests, if the connection still brings them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._last_seconds):
                while self._requests:
                    self._news.clear()
                    await self._news.wait()


def _transport(
    server: Server, limits: McpLimits, output: ServerOutput, ended: Callable[..., None]
) -> AbstractAsyncContextManager[Any]:
    if isinstance(server, StdioServer):
        return stdio_transport(server, limits, output, ended)
    if isinstance(server, HttpServer):
        return http_transport(server, limits)
    raise ConfigurationError(f"{server!r:.100} is not a server of a known kind")


def _meta(key: str) -> Any:
    """The metadata of a call."""
    return {"interpstack/callKey": key}


def _reason(error: BaseException, limits: McpLimits) -> str:
    """A failure in words."""
    if isinstance(error, MCPError) and (failure := failure_in(error)) is not None:
        error = failure
    if (
        isinstance(error, MCPError)
        and not is_of_server(error)
        and error.code == types.CONNECTION_CLOSED
    ):
        return "it closed the connection before it answered"
    if isinstance(error, TimeoutError):
        return f"it did not answer within {limits.connect_seconds:g} seconds"
    if isinstance(error, NoFolder):
        return f"there is no folder {error.filename}, which is its 'cwd'"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename}; install it, or give its full path"
    if isinstance(error, (Unavailable, Lost, LoginNeeded)):
        return str(error)
    if isinstance(error, Rejected):
        return f"an answer of it is not accepted: {error}"
    if isinstance(error, ValidationError):
        return f"an answer of it does not fit the protocol: {fault_of(error)}"
    return in_words(error)
