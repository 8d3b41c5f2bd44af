"""The servers of one configuration: a connection to each, on each event loop that uses them."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

import attrs
from mcp import types
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from interpstack import (
    CellContext,
    ConfigurationError,
    GuestException,
    GuestLanguage,
    call_blocking,
    start_anew_after_fork,
)
from interpstack.checks import expect, is_plain_function, shown
from interpstack_agents import has_many_parts
from interpstack_mcp.catalog import ToolCatalog, check_servers, made_catalog, server_names
from interpstack_mcp.configuration import Server, read_servers
from interpstack_mcp.connections.causes import printable
from interpstack_mcp.connections.connection import ServerConnection
from interpstack_mcp.connections.failures import (
    HttpFailed,
    Lost,
    Rejected,
    Unavailable,
    unknown_effects,
)
from interpstack_mcp.faults import fault_of
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.schemas import OutputSchema
from interpstack_mcp.values import bounded, content_beside, to_arguments, to_value

__all__ = ["McpProgress", "McpServers", "listen_to_progress"]

_ERROR_CHARS: Final = 2000
#: Links to resources that are remembered.
_LINKS: Final = 10_000
_Asking = types.InputRequiredResult
_RESOURCE: Final[TypeAdapter[Any]] = TypeAdapter(types.ReadResourceResult | _Asking)
#: Characters of the message of one progress notification.
_PROGRESS_CHARS: Final = 500
#: Seconds between two progress notifications of one call that are passed on.
_PROGRESS_SECONDS: Final = 0.05


@attrs.frozen(kw_only=True)
class McpProgress:
    """One report on the progress of a call.

    Attributes:
        tool: The tool, as `mcp.<server>.<tool>`.
        call_key: Identifies the call; see `CellContext.call_key`.
        progress: The progress so far.
        total: The progress at the end; `None` if the server does not know it.
        message: The server's message, shortened; untrusted.
    """

    tool: str
    call_key: str
    progress: float
    total: float | None
    message: str


#: Receives the progress of calls that the running task makes.
_listener: ContextVar[Callable[[McpProgress], object] | None] = ContextVar(
    "interpstack_mcp_progress", default=None
)


def listen_to_progress(listener: Callable[[McpProgress], object]) -> None:
    """Receive the progress of the calls of MCP tools that the running task makes from now on.

    An adapter calls it in a function that `McpCalls.adapt` puts around a tool: each call of code
    runs in a task of its own. The listener of `McpServers.on_progress` receives it, too.

    Args:
        listener: Called on the event loop of the cell.
    """
    _listener.set(listener)


@attrs.define(eq=False)
class McpServers:
    """MCP servers that code may use; also a part of a `HostOffer`, for the plugin `mcp`.

    Connections are opened by the first cell that may use them, on its event loop, and closed with
    the last session that uses them; in an `async with` block, they stay until its end.

    Attributes:
        servers: The servers.
        limits: Limits of everything that they send.
        on_progress: Receives the progress of calls, on the event loop of the cell.
    """

    servers: tuple[Server, ...]
    limits: McpLimits = attrs.field(factory=McpLimits)
    on_progress: Callable[[McpProgress], object] | None = None
    _loops: dict[asyncio.AbstractEventLoop, dict[str, ServerConnection]] = attrs.field(init=False)
    _made: dict[tuple[Any, ...], ToolCatalog] = attrs.field(factory=dict, init=False)
    _older: set[str] = attrs.field(factory=set, init=False)
    #: Servers of the resources to which results of tools have linked, by session and URI.
    _links: OrderedDict[tuple[str, str], frozenset[str]] = attrs.field(
        factory=OrderedDict, init=False
    )
    _users: set[object] = attrs.field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        expect(self.limits, McpLimits, "limits takes an McpLimits object")
        if self.on_progress is not None and not is_plain_function(self.on_progress):
            raise ConfigurationError(
                f"on_progress takes a function that is not async; got {shown(self.on_progress)}"
            )
        check_servers(server.name for server in self.servers)
        self.start_anew()
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Forget the connections, which are the parent's; called in the child of a fork."""
        self._loops = {}

    @classmethod
    def of(
        cls,
        given: Mapping[str, Any] | str | Path | McpServers,
        *,
        auth: Mapping[str, Any] | None = None,
        limits: McpLimits | None = None,
        on_progress: Callable[[McpProgress], object] | None = None,
    ) -> McpServers:
        """The servers of a configuration; see `mcp`.

        Raises:
            ConfigurationError: The configuration is wrong, or there are options for servers that
                have theirs already.
        """
        if not isinstance(given, McpServers):
            limits = McpLimits() if limits is None else limits
            return cls(read_servers(given, auth), limits, on_progress)
        options = {"auth": auth, "limits": limits, "on_progress": on_progress}
        for name in (name for name, value in options.items() if value is not None):
            raise ConfigurationError(
                f"{name} belongs to the servers when they are an McpServers: make it with "
                f"McpServers.of(…, {name}=…)"
            )
        return given

    def names(self, language: GuestLanguage) -> dict[str, str]:
        """Names of the servers in the spelling of code, by their names in the configuration.

        Raises:
            ConfigurationError: A server cannot be called by its name.
        """
        return server_names((server.name for server in self.servers), language)

    async def catalog(self, language: GuestLanguage) -> ToolCatalog:
        """The tools of all servers that can be reached; connects to those that are not connected.

        Returns the same object as long as nothing has changed.
        """
        connections = self._connections()
        answers = await asyncio.gather(*(one.listed() for one in connections.values()))
        listings = dict(zip(connections, answers, strict=True))
        key = (language.name, asyncio.get_running_loop(), *answers)
        if key not in self._made:
            made = made_catalog(
                listings,
                {server.name: server.tools for server in self.servers},
                language,
                self.limits,
                self._caller,
                self._read,
            )
            self._made = {**dict(list(self._made.items())[-7:]), key: made}
        return self._made[key]

    def last(self, language: GuestLanguage) -> ToolCatalog | None:
        """The catalog that was made last for a language; `None` before the first."""
        found = [made for key, made in self._made.items() if key[0] == language.name]
        return found[-1] if found else None

    def _connections(self) -> dict[str, ServerConnection]:
        """The connections of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            open_ = {one: made for one, made in self._loops.items() if not one.is_closed()}
            new = {
                one.name: ServerConnection(one, self.limits, older=self._older)
                for one in self.servers
            }
            self._loops = {**open_, loop: new}
        return self._loops[loop]

    def _caller(
        self, server: str, tool: types.Tool
    ) -> Callable[[dict[str, Any], CellContext], Any]:
        returned = tool.output_schema
        schema = None if returned is None else OutputSchema(f"mcp.{server}.{tool.name}", returned)

        async def call(given: dict[str, Any], context: CellContext) -> Any:
            connection = self._connections()[server]
            making = partial(to_arguments, given)
            arguments = await call_blocking(making) if has_many_parts(given) else making()
            name, key = f"mcp.{server}.{tool.name}", context.call_key
            listeners = [one for one in (self.on_progress, _listener.get()) if one is not None]
            reporter = _Reporter(listeners, self.limits, name, key) if listeners else None
            async with connection.together:
                try:
                    with _errors_for_code(name, server):
                        result = await connection.call(tool.name, arguments, key, reporter)
                finally:
                    if reporter is not None:
                        reporter.end()
                self._note_links(server, result, context)
                return await _value(name, result, schema)

        return call

    def _note_links(self, server: str, result: types.CallToolResult, context: CellContext) -> None:
        for block in result.content:
            if isinstance(block, types.ResourceLink):
                key = context.session_key, str(block.uri)
                self._links[key] = self._links.pop(key, frozenset()) | {server}
        while len(self._links) > _LINKS:
            self._links.popitem(last=False)

    async def _read(self, link: Any, context: CellContext) -> list[dict[str, Any]]:
        """The contents of a resource to which a result has linked, in the same session.

        Code may not read others: the configuration and the approvals name tools, and a server may
        offer as a resource what one of these tools guards.

        Raises:
            GuestException: There is no such link, or its server does not answer well.
        """
        fields = link if isinstance(link, dict) else {"uri": link}
        uri, server = fields.get("uri"), fields.get("server")
        found = self._links.get((context.session_key, uri)) if isinstance(uri, str) else None
        if found is None:
            raise GuestException(
                "mcp.read takes a resource_link that a tool has returned to this session since the "
                f"servers were connected; got {shown(uri) if isinstance(uri, str) else 'no URI'}; "
                "call the tool again for the link"
            )
        linked = sorted(found)
        if server is not None and server not in linked:
            raise GuestException(
                f"mcp.read: server {shown(server)} has not returned a link to {shown(uri)}; "
                f"it is of {' and '.join(map(repr, linked))}"
            )
        if server is None and len(linked) > 1:
            raise GuestException(
                f"mcp.read: the servers {' and '.join(map(repr, linked))} have returned a link to "
                f"{shown(uri)}; add the server to the link, as in "
                f'{{"uri": {shown(uri)}, "server": {linked[0]!r}}}'
            )
        name: str = linked[0] if server is None else server
        connection = self._connections()[name]
        async with connection.together:
            with _errors_for_code("mcp.read", name):
                answer = await connection.request("resources/read", {"uri": uri})
                if isinstance(_RESOURCE.validate_python(answer, by_name=False), _Asking):
                    raise Rejected("the server asks for input, which code cannot give")
                contents: list[dict[str, Any]] = answer["contents"]
                return contents

    # -- life ------------------------------------------------------------------------------

    def enter(self, user: object) -> None:
        """Note another user of the connections."""
        self._users.add(user)

    async def leave(self, user: object) -> None:
        """Note that a user has left; the last one closes the connections."""
        self._users.discard(user)
        if not self._users:
            await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; another use opens new ones."""
        loops, self._loops = self._loops, {}
        running = asyncio.get_running_loop()
        for loop, connections in loops.items():
            closing = _close(connections.values())
            if loop is running:
                await closing
            elif loop.is_closed():
                closing.close()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(closing, loop))
            else:  # they close once it runs again, as it does at the end of `asyncio.Runner`
                loop.call_soon_threadsafe(asyncio.ensure_future, closing)

    async def __aenter__(self) -> Self:
        self.enter(self)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.leave(self)


@contextmanager
def _errors_for_code(name: str, server: str) -> Iterator[None]:
    """A block that makes a call, whose failures become errors of the code.

    Raises:
        GuestException: The call was not made, or has no answer, an error or a malformed answer.
    """
    try:
        yield
    except Unavailable as error:
        raise GuestException(
            f"{name} was not called: the server is not available: {error}",
            name="McpUnavailable",
        ) from error
    except HttpFailed as error:
        raise GuestException(
            error.told_of(name, server), name="McpHttpError", status=error.status
        ) from error
    except Lost as error:
        raise GuestException(
            f"{error}; {unknown_effects(name)}", name="McpConnectionLost"
        ) from error
    except MCPError as error:
        raise GuestException(
            str(error)[:_ERROR_CHARS], code=error.code, **bounded(data=error.data)
        ) from error
    except Rejected as error:
        raise GuestException(
            f"{name} was called, but the answer of MCP server {server!r} is not accepted: {error}",
            name="McpAnswerInvalid",
        ) from error
    except ValueError as error:
        raise GuestException(
            f"{name} was called, but the answer of MCP server {server!r} does not fit the "
            f"protocol: {fault_of(error)}",
            name="McpAnswerInvalid",
        ) from error


async def _value(name: str, result: types.CallToolResult, schema: OutputSchema | None) -> Any:
    """The value of a result in code, held to the output schema of its tool."""
    value = to_value(result, has_schema=schema is not None)
    if schema is not None and (fault := await schema.fault(value)):
        raise GuestException(
            f"{name} was called, but its answer does not fit the tool's output schema: {fault}",
            name="McpAnswerInvalid",
        )
    return value if schema is None else content_beside(value, result)


@attrs.define(eq=False)
class _Reporter:
    """Passes the progress of one call on, at most as often as the limits allow.

    Of reports that come faster, the last one is passed on when the call has ended.
    """

    listeners: Sequence[Callable[[McpProgress], object]]
    limits: McpLimits
    tool: str
    key: str
    _count: int = 0
    _last: float = -1.0
    _left: tuple[float, float | None, str | None] | None = None

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        if self._count >= self.limits.progress:
            return
        now = time.monotonic()
        if now - self._last < _PROGRESS_SECONDS:
            self._left = progress, total, message
            return
        self._last, self._left = now, None
        self._pass_on(progress, total, message)

    def end(self) -> None:
        """Pass on the last report, if it came too fast."""
        if self._left is not None:
            self._pass_on(*self._left)

    def _pass_on(self, progress: float, total: float | None, message: str | None) -> None:
        self._count += 1
        words = printable(message or "")
        report = McpProgress(
            tool=self.tool,
            call_key=self.key,
            progress=progress,
            total=total,
            message=words[:_PROGRESS_CHARS],
        )
        for listener in self.listeners:
            listener(report)


async def _close(connections: Iterable[ServerConnection]) -> None:
    await asyncio.gather(*(connection.aclose() for connection in connections))
