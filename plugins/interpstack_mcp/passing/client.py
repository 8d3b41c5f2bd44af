"""All servers that one client reaches through this one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

import anyio
import attrs
from mcp import types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_from_wire

from interpstack_mcp.configuration import Server
from interpstack_mcp.connections.failures import Lost, Unavailable
from interpstack_mcp.faults import fault_of
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.passing.calls import PassedRequest, is_modern
from interpstack_mcp.passing.idling import IdleTimer
from interpstack_mcp.passing.names import Names, Uris
from interpstack_mcp.passing.sending import SendQueue
from interpstack_mcp.passing.upstream import LISTS, Upstream
from interpstack_mcp.serving.clients import allows_level

__all__ = ["RESOURCE_NOT_FOUND", "PassingClient"]

_log = logging.getLogger("interpstack.mcp")
#: The protocol's code for a resource that no server has.
RESOURCE_NOT_FOUND: Final = -32002
#: Characters of a tool's name.
_NAME_CHARS: Final = 128
#: Calls of one client that wait for its answers, between two of its requests.
_MOST_PENDING: Final = 32
#: Resources whose updates one request may ask for.
_URIS: Final = 1000


@attrs.define(eq=False)
class PassingClient:
    """One client, with a connection of its own to each server.

    Attributes:
        servers: The servers, in the order of their precedence.
        limits: Limits of everything that they send.
        session: The client's session in the SDK, as of its newest request.
        capabilities: What the client can do.
        alone: Whether all requests are of one client, and not of several without sessions.
        own: Names of this server's own tools.
        idle_seconds: Time after which connections are closed that several clients share.
        older: Names of servers that take only the older handshake; see `Connection`.
        level: The least serious log messages that it wants; empty for all.
        queue: Sends messages to the client.
    """

    servers: tuple[Server, ...]
    limits: McpLimits
    session: Any
    capabilities: types.ClientCapabilities
    alone: bool
    own: frozenset[str]
    idle_seconds: float
    older: set[str] = attrs.field(factory=set)
    level: str = attrs.field(default="", init=False)
    queue: SendQueue = attrs.field(factory=SendQueue, init=False)
    _bus: InMemorySubscriptionBus = attrs.field(factory=InMemorySubscriptionBus, init=False)
    _tools: dict[str, frozenset[str]] = attrs.field(factory=dict, init=False)
    _upstreams: dict[str, Upstream] = attrs.field(factory=dict, init=False)
    _names: dict[str, Names] = attrs.field(init=False)
    _uris: Uris = attrs.field(factory=Uris, init=False)
    _pending: dict[str, PassedRequest] = attrs.field(factory=dict, init=False)
    _closing: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)
    _requests: int = attrs.field(default=0, init=False)
    _listen: ListenHandler = attrs.field(init=False)
    _idle: IdleTimer = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._names = {"tools": Names(self.own), "prompts": Names()}
        self._listen = ListenHandler(self._bus, max_subscriptions=_MOST_PENDING)
        self._idle = IdleTimer(self.idle_seconds, lambda: self.busy, self.aclose)

    @property
    def busy(self) -> bool:
        """Whether a request of the client goes on."""
        return self._requests > 0 or any(not call.done for call in self._pending.values())

    def wants_logs(self, level: str) -> bool:
        """Whether the client wants log messages of a level."""
        return allows_level(self.level, level)

    def upstream(self, name: str) -> Upstream:
        """The server of a name, which is connected by the first request to it."""
        if name not in self._upstreams:
            (server,) = (one for one in self.servers if one.name == name)
            self._upstreams[name] = Upstream(server, self.limits, self, self.older)
        return self._upstreams[name]

    def heard_from(self, session: Any) -> None:
        """Note a new request of the client."""
        self.session = session
        if not self.alone:
            self._idle.start()

    async def aclose(self) -> None:
        """Stop what goes on, and close the connections; another request opens new ones."""
        pending, self._pending = self._pending, {}
        await asyncio.gather(*(call.stop() for call in pending.values()))
        self._idle.stop()
        self._listen.close()
        self.queue.close()
        upstreams, self._upstreams = self._upstreams, {}
        for one in upstreams.values():
            task = asyncio.ensure_future(one.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        if self._closing:  # a second caller waits for what the first has begun
            await asyncio.wait(set(self._closing))

    # -- lists -----------------------------------------------------------------------------

    async def everything(self, kind: str) -> list[dict[str, Any]]:
        """Everything of a kind in `LISTS` that the servers offer.

        A server that cannot be reached has no part in it.
        """
        names = [server.name for server in self.servers]
        listed = await asyncio.gather(*(self._listed(name, kind) for name in names))
        key = LISTS[kind][3]
        every = [(item, name) for name, items in zip(names, listed, strict=True) for item in items]
        if kind in self._names:
            return self._named(kind, every)
        places = [(str(item[key]), name) for item, name in every]
        if kind == "resources":
            self._uris.take(places)
        else:
            self._uris.take_templates(places)
        first: dict[str, dict[str, Any]] = {}
        for item, _ in every:
            first.setdefault(str(item[key]), item)
        return [*first.values()]

    async def _listed(self, name: str, kind: str) -> list[dict[str, Any]]:
        try:
            items = await self.upstream(name).everything(kind)
        except (Unavailable, Lost, MCPError, ValueError) as error:
            text = f"the {kind} of MCP server {name!r} are not listed: {fault_of(error)}"
            _log.warning("%s", text)
            return []
        if kind != "tools":
            return items
        allowed = next(one.tools for one in self.servers if one.name == name)
        items = [one for one in items if allowed is None or one["name"] in allowed]
        self._tools[name] = frozenset(one["name"] for one in items)
        return items

    def _named(self, kind: str, every: list[tuple[dict[str, Any], str]]) -> list[dict[str, Any]]:
        """The items under the names by which they are offered."""
        made: dict[str, dict[str, Any]] = {}
        for item, server in every:
            own = item["name"]
            name = self._names[kind].give(server, own) if len(own) <= _NAME_CHARS else None
            if name is None:
                _log.warning("server %s: %.100r of its %s has no free name", server, own, kind)
            else:
                made.setdefault(name, {**item, "name": name})
        return [*made.values()]

    async def find(self, kind: str, name: str) -> tuple[str, str] | None:
        """The server of a tool or prompt, and the name that it has there; `None` if none has it."""
        known = self._names[kind].find(name)
        if known is None:
            await self.everything(kind)
            known = self._names[kind].find(name)
        return known

    async def tools_of(self, server: str) -> frozenset[str]:
        """Names of the tools that a server lists and that the configuration allows."""
        if server not in self._tools:
            await self._listed(server, "tools")
        return self._tools.get(server, frozenset())

    async def find_uri(self, uri: str) -> str:
        """The server of a resource or of a template.

        Raises:
            MCPError: No server has it.
        """
        found = self._uris.find(uri)
        if found is None:
            await asyncio.gather(self.everything("resources"), self.everything("templates"))
            found = self._uris.find(uri)
        if found is None:
            raise MCPError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri[:1000]})
        return found

    def note_links(self, server: str, content: Any) -> None:
        """Remember the resources that a result of a server links to."""
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "resource_link":
                self._uris.link(str(block.get("uri")), server)

    # -- requests --------------------------------------------------------------------------

    async def run(
        self, ctx: Any, work: Callable[[PassedRequest], Coroutine[Any, Any, Any]], given: Any = None
    ) -> Any:
        """Do the work of a request, or go on with it.

        Args:
            ctx: The client's request.
            work: Does it.
            given: The request's parameters, which may go on with an earlier one.

        Raises:
            MCPError: There is no such request any more, or too many wait.
        """
        self._requests += 1
        try:
            key = PassedRequest.key_in(getattr(given, "request_state", None))
            if not is_modern(ctx) and key is None:
                return await work(PassedRequest(ctx))
            return await self._follow(ctx, work, key, getattr(given, "input_responses", None))
        finally:
            self._requests -= 1

    async def _follow(
        self,
        ctx: Any,
        work: Callable[[PassedRequest], Coroutine[Any, Any, Any]],
        key: str | None,
        responses: types.InputResponses | None,
    ) -> Any:
        call = PassedRequest(ctx) if key is None else self._pending.get(key)
        if call is None:
            raise MCPError(types.INVALID_PARAMS, "there is no such request; start it again")
        if key is None:
            self._pending = {**_with_room(self._pending), call.key: call}
            call.start(work(call))
        kept = False
        try:
            answer = await call.follow(ctx, responses)
            kept = isinstance(answer, types.InputRequiredResult)
        finally:
            if not kept:
                self._pending.pop(call.key, None)
        return answer

    # -- what lasts ------------------------------------------------------------------------

    async def set_level(self, level: str) -> None:
        """Set the least serious log messages that the client wants."""
        self.level = level
        await asyncio.gather(*(one.set_level() for one in self._upstreams.values()))

    async def roots_changed(self) -> None:
        """Tell the servers that the client's roots have changed."""
        await asyncio.gather(*(one.roots_changed() for one in self._upstreams.values()))

    async def changed(self, notification: Any) -> None:
        """Tell the client of a change."""
        if not is_modern(self.session):
            await self.session.send_notification(notification)
            return
        params = None if notification.params is None else notification.params.model_dump()
        event = event_from_wire(notification.method, params)
        if event is not None:
            await self._bus.publish(event)

    async def listen(self, ctx: Any, params: types.SubscriptionsListenRequestParams) -> Any:
        """Tell the client of changes until it closes the stream."""
        self._requests += 1
        call, followed = PassedRequest(ctx), list[tuple[str, Upstream]]()
        try:
            await asyncio.gather(*(self._listed(one.name, "tools") for one in self.servers))
            for uri in (params.notifications.resource_subscriptions or ())[:_URIS]:
                with suppress(Unavailable, Lost, MCPError, ValueError):
                    upstream = self.upstream(await self.find_uri(uri))
                    await upstream.subscribe(uri, call, {"uri": uri})
                    followed.append((uri, upstream))
            await self._listen_again()
            return await self._listen(ctx, params)
        finally:
            self._requests -= 1
            with anyio.CancelScope(shield=True), suppress(Unavailable, Lost, MCPError, ValueError):
                for uri, upstream in followed:
                    await upstream.unsubscribe(uri, call, {"uri": uri})
                if followed:
                    await self._listen_again()

    async def _listen_again(self) -> None:
        await asyncio.gather(*(one.listen_again() for one in self._upstreams.values()))


def _with_room(pending: dict[str, PassedRequest]) -> dict[str, PassedRequest]:
    """The calls that wait for answers, with room for another one.

    Raises:
        MCPError: There are too many.
    """
    if len(pending) >= _MOST_PENDING:  # some may have ended, as nobody has answered in time
        pending = {key: call for key, call in pending.items() if not call.done}
    if len(pending) >= _MOST_PENDING:
        text = f"{_MOST_PENDING} requests of this client wait for its answers; answer one first"
        raise MCPError(types.INVALID_REQUEST, text)
    return pending
