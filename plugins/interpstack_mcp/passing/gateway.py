"""Handlers by which a server offers other servers, around its own handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final

import attrs
from mcp import types
from mcp.server import NotificationOptions, Server
from mcp.shared.exceptions import MCPError

from interpstack import ConfigurationError
from interpstack_mcp.connections.failures import (
    HttpFailed,
    Lost,
    Unavailable,
    unknown_effects,
)
from interpstack_mcp.faults import fault_of
from interpstack_mcp.passing.approving import Approving
from interpstack_mcp.passing.calls import PassedRequest
from interpstack_mcp.passing.client import PassingClient
from interpstack_mcp.passing.upstream import LISTS, Upstream

__all__ = ["Gateway", "PassingServer"]

#: Begins the URIs of this server's own resources.
OWN_URIS: Final = "interpstack://"
#: Fields that the answers of older servers do not have, and newer clients need.
_COMPLETE: Final[Mapping[str, Any]] = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
_NOTHING: Final[Mapping[str, Any]] = {}
_Handler = Callable[[Any, Any], Awaitable[Any]]


class PassingServer(Server[Any]):
    """A server of the SDK that tells of the changes of its lists."""

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *given: Any, **named: Any
    ) -> types.ServerCapabilities:
        changes = NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        return super().get_capabilities(changes, *given, **named)


@attrs.define(eq=False)
class Gateway:
    """Offers servers to the clients of a server, beside what that one offers itself.

    Every handler is registered, whatever the servers have: they are connected by a client's first
    request that needs them, long after it has learned what there is.

    Attributes:
        client: Finds the client of a request.
        approving: Asks for the approvals of calls.
        own: Names of the server's own tools.
    """

    client: Callable[[Any], Awaitable[PassingClient]]
    approving: Approving
    own: frozenset[str]

    def extend(self, app: Server[Any]) -> None:
        """Put the handlers around those that a server has."""
        for kind, (method, field, *_) in LISTS.items():
            handler = partial(self._list, _own(app, method), kind, field)
            app.add_request_handler(method, types.PaginatedRequestParams, handler)
        call, read = _own(app, "tools/call"), _own(app, "resources/read")
        app.add_request_handler(
            "tools/call", types.CallToolRequestParams, partial(self._call_tool, call)
        )
        app.add_request_handler(
            "resources/read", types.ReadResourceRequestParams, partial(self._read_resource, read)
        )
        others: tuple[tuple[str, Any, _Handler], ...] = (
            ("prompts/get", types.GetPromptRequestParams, self._get_prompt),
            ("resources/subscribe", types.SubscribeRequestParams, self._subscribe),
            ("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe),
            ("completion/complete", types.CompleteRequestParams, self._complete),
            ("logging/setLevel", types.SetLevelRequestParams, self._set_level),
            ("subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen),
        )
        for method, params, handle in others:
            app.add_request_handler(method, params, handle)
        app.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._roots_changed
        )

    # -- lists -----------------------------------------------------------------------------

    async def _list(
        self, own: _Handler | None, kind: str, field: str, ctx: Any, params: Any
    ) -> dict[str, Any]:
        mine = {} if own is None else _plain(await own(ctx, params))
        client = await self.client(ctx)

        async def work(call: PassedRequest) -> list[dict[str, Any]]:
            return await client.everything(kind)

        return {**_COMPLETE, field: [*mine.get(field, ()), *await client.run(ctx, work)]}

    # -- tools -----------------------------------------------------------------------------

    async def _call_tool(self, own: _Handler, ctx: Any, params: types.CallToolRequestParams) -> Any:
        if params.name in self.own:
            return await own(ctx, params)
        client = await self.client(ctx)
        return await client.run(ctx, partial(self._called, client, params), params)

    async def _called(
        self, client: PassingClient, params: types.CallToolRequestParams, call: PassedRequest
    ) -> Any:
        """Call a tool, once, after its approval."""
        found = await client.find("tools", params.name)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name:.100}")
        server, tool = found
        name, tools = f"mcp.{server}.{tool}", await client.tools_of(server)
        try:
            if tools:  # else the server is not available
                self.approving.check(server, tools)
            arguments = params.arguments or {}
            if refusal := await self.approving.refusal(call, server, tool, arguments):
                return _error(f"{name} was not called: {refusal}")
            answer = await self._passed(client, server, call, {"name": tool})
        except ConfigurationError as error:
            return _error(str(error))
        except Unavailable as error:
            return _error(f"{name} was not called: the server is not available: {error}")
        except HttpFailed as error:
            return _error(error.told_of(name, server))
        except Lost as error:
            return _error(f"{error}; {unknown_effects(name)}")
        client.note_links(server, answer.get("content"))
        return answer

    # -- other requests --------------------------------------------------------------------

    async def _get_prompt(self, ctx: Any, params: types.GetPromptRequestParams) -> Any:
        client = await self.client(ctx)

        async def work(call: PassedRequest) -> Any:
            found = await client.find("prompts", params.name)
            if found is None:
                raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name:.100}")
            return await self._passed(client, found[0], call, {"name": found[1]})

        return await client.run(ctx, _reached(work), params)

    async def _read_resource(
        self, own: _Handler, ctx: Any, params: types.ReadResourceRequestParams
    ) -> Any:
        if params.uri.startswith(OWN_URIS):
            return await own(ctx, params)
        client = await self.client(ctx)

        async def work(call: PassedRequest) -> Any:
            return await self._passed(client, await client.find_uri(params.uri), call)

        return await client.run(ctx, _reached(work), params)

    async def _complete(self, ctx: Any, params: types.CompleteRequestParams) -> Any:
        client = await self.client(ctx)

        async def work(call: PassedRequest) -> Any:
            reference = params.ref
            if not isinstance(reference, types.PromptReference):
                return await self._passed(client, await client.find_uri(reference.uri), call)
            found = await client.find("prompts", reference.name)
            if found is None:
                raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {reference.name:.100}")
            given = {**call.ctx.params["ref"], "name": found[1]}
            return await self._passed(client, found[0], call, {"ref": given})

        return await client.run(ctx, _reached(work))

    async def _passed(
        self,
        client: PassingClient,
        server: str,
        call: PassedRequest,
        own: Mapping[str, Any] = _NOTHING,
    ) -> dict[str, Any]:
        """The answer of a server to a client's request.

        Args:
            client: The client.
            server: The server.
            call: The request.
            own: Parameters that the server knows by other names.
        """
        ctx = call.ctx
        params = {**(ctx.params or {}), **own}
        listens = bool(ctx.meta and "progress_token" in ctx.meta)
        upstream = client.upstream(server)
        try:
            answer = await upstream.request(ctx.method, params, call, listens=listens)
        except ValueError as error:
            text = f"the answer of MCP server {server!r} is not valid in the protocol"
            if ctx.method == "tools/call":
                text = f"mcp.{server}.{own['name']} was called, but {text}"
            raise MCPError(types.INTERNAL_ERROR, f"{text}: {fault_of(error)}") from error
        return {**_COMPLETE, **answer}

    # -- what lasts ------------------------------------------------------------------------

    async def _subscribe(self, ctx: Any, params: types.SubscribeRequestParams) -> Any:
        if params.uri.startswith(OWN_URIS):
            raise MCPError(
                types.INVALID_PARAMS, f"{params.uri:.100} never changes, so it has no subscriptions"
            )
        return await self._with_server_of(ctx, params.uri, Upstream.subscribe)

    async def _unsubscribe(self, ctx: Any, params: types.UnsubscribeRequestParams) -> Any:
        return await self._with_server_of(ctx, params.uri, Upstream.unsubscribe)

    async def _with_server_of(
        self,
        ctx: Any,
        uri: str,
        do: Callable[[Upstream, str, PassedRequest, Any], Awaitable[object]],
    ) -> Any:
        """Do something at the server that has a resource."""
        client = await self.client(ctx)

        async def work(call: PassedRequest) -> Any:
            await do(client.upstream(await client.find_uri(uri)), uri, call, call.ctx.params)
            return types.EmptyResult()

        return await client.run(ctx, _reached(work))

    async def _listen(self, ctx: Any, params: types.SubscriptionsListenRequestParams) -> Any:
        return await (await self.client(ctx)).listen(ctx, params)

    async def _set_level(self, ctx: Any, params: types.SetLevelRequestParams) -> Any:
        await (await self.client(ctx)).set_level(params.level)
        return types.EmptyResult()

    async def _roots_changed(self, ctx: Any, params: Any) -> None:
        await (await self.client(ctx)).roots_changed()


def _own(app: Server[Any], method: str) -> Any:
    """The handler that a server has for a method; `None` if it has none."""
    entry = app.get_request_handler(method)
    return None if entry is None else entry.handler


def _plain(result: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


def _error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _reached(
    work: Callable[[PassedRequest], Coroutine[Any, Any, Any]],
) -> Callable[[PassedRequest], Coroutine[Any, Any, Any]]:
    """The work, with errors of the protocol where a server cannot be reached."""

    async def reached(call: PassedRequest) -> Any:
        try:
            return await work(call)
        except HttpFailed as error:
            text = f"the MCP server did not answer the request: {error}"
            raise MCPError(types.INTERNAL_ERROR, text) from error
        except (Unavailable, Lost) as error:
            text = f"the MCP server is not available: {error}"
            raise MCPError(types.INTERNAL_ERROR, text) from error

    return reached
