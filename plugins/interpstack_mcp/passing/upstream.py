"""One server, connected for one client: requests to it, and everything that it sends on its own."""

from __future__ import annotations

import asyncio
import json
import logging
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

import attrs
import mcp
from mcp import types
from mcp.shared.exceptions import MCPError

from interpstack_mcp.configuration import Server
from interpstack_mcp.connections.client_side import ClientSide
from interpstack_mcp.connections.connection import ServerConnection
from interpstack_mcp.connections.failures import (
    HttpFailed,
    Lost,
    Unavailable,
    failure_in,
    is_of_server,
)
from interpstack_mcp.connections.listing import whole_list
from interpstack_mcp.faults import fault_of
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.passing.calls import PassedRequest, is_modern
from interpstack_mcp.passing.questions import Downstream, Questions, refusal
from interpstack_mcp.passing.sending import SendQueue
from interpstack_mcp.serving.clients import allows_level

__all__ = ["LISTS", "Upstream"]

_log = logging.getLogger("interpstack.mcp")
#: The lists of the protocol: the request, the field of the answer, the capability, and what
#: identifies an item.
LISTS: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "tools": ("tools/list", "tools", "tools", "name"),
    "prompts": ("prompts/list", "prompts", "prompts", "name"),
    "resources": ("resources/list", "resources", "resources", "uri"),
    "templates": (
        "resources/templates/list",
        "resourceTemplates",
        "resources",
        "uriTemplate",
    ),
}
#: Fields of `_meta` that are for one connection, and begin so.
_RESERVED: Final = "io.modelcontextprotocol/"
_LOG_LEVEL: Final = f"{_RESERVED}logLevel"
#: Times that a server may answer one request with questions.
_INPUT_ROUNDS: Final = 10
#: Resources whose updates one client may want.
_URIS: Final = 1000
#: Notifications of changes.
_CHANGES: Final = frozenset(
    {
        "notifications/elicitation/complete",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    }
)
_Notification = types.Notification[dict[str, Any], str]


@attrs.define(eq=False)
class Upstream:
    """One server for one client.

    Attributes:
        server: The server.
        limits: Limits of everything that it sends.
        client: The client.
        older: Names of servers that take only the older handshake; see `ServerConnection`.
        uris: The resources whose updates the client wants, with the number of its streams.
    """

    server: Server
    limits: McpLimits
    client: Downstream
    older: set[str] = attrs.field(factory=set)
    uris: dict[str, int] = attrs.field(factory=dict, init=False)
    _questions: Questions = attrs.field(init=False)
    _connection: ServerConnection = attrs.field(init=False)
    _client: mcp.Client | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._questions = Questions(self.client)
        side = ClientSide(
            callbacks=self._questions.callbacks(),
            abilities=self._questions.abilities,
            heard=self._heard,
            logged=self._logged,
            opened=self._opened,
            uris=self.uris.keys,
        )
        self._connection = ServerConnection(self.server, self.limits, side, self.older)

    async def capabilities(self) -> types.ServerCapabilities:
        """The parts of the protocol that the server offers.

        Raises:
            Unavailable: The server cannot be reached.
        """
        return (await self._connection.connected()).server_capabilities

    async def aclose(self) -> None:
        """Close the connection."""
        await self._connection.aclose()

    # -- requests of the client ------------------------------------------------------------

    async def everything(self, kind: str) -> list[dict[str, Any]]:
        """Everything of a kind in `LISTS`, as the server describes it.

        Raises:
            Unavailable: The server cannot be reached, or lists too much.
            MCPError: The server answered with an error.
        """
        method, field, capability, _ = LISTS[kind]
        if getattr(await self.capabilities(), capability) is None:
            return []

        async def page(cursor: str | None) -> tuple[list[Any], str | None]:
            params = {} if cursor is None else {"cursor": cursor}
            seconds = self.limits.connect_seconds
            answer = await self._connection.request(method, params, seconds=seconds)
            return answer[field], answer.get("nextCursor")

        try:
            items = await whole_list(page, kind, self.limits)
        except MCPError as error:
            if error.code == types.METHOD_NOT_FOUND:
                return []
            raise
        return [item for item in items if self._fits(kind, item)]

    def _fits(self, kind: str, item: dict[str, Any]) -> bool:
        if len(json.dumps(item)) <= self.limits.tool_bytes:
            return True
        name = str(item[LISTS[kind][3]])
        _log.warning(
            "server %s: one of its %s is not offered: the description of %.100r has more than %d "
            "bytes (McpLimits.tool_bytes)",
            self.server.name,
            kind,
            name,
            self.limits.tool_bytes,
        )
        return False

    async def request(
        self, method: str, params: Mapping[str, Any], call: PassedRequest, *, listens: bool = False
    ) -> dict[str, Any]:
        """Hand a request on, once, and everything that the server sends on the way.

        Args:
            method: The method of the protocol.
            params: As the client has sent them, with the server's own names.
            call: The client's request.
            listens: Whether the client wants progress.

        Raises:
            Unavailable: The server cannot be reached; nothing was sent.
            Lost: The answer was lost; the request may have had its effects.
            MCPError: The server answered with an error, or the client did not answer a question.
            ValueError: The answer is not valid in the protocol.
        """
        client = await self._connection.connected()
        plain = {k: v for k, v in params.items() if k not in ("inputResponses", "requestState")}
        sent = {**plain, "_meta": self._meta(client, params.get("_meta"))}
        progress = _Progress(call, self.client.queue, self.limits.progress) if listens else None
        self._questions.begin(call)
        try:
            for number in range(_INPUT_ROUNDS):
                try:
                    answer = await self._connection.request(method, sent, on_progress=progress)
                except (Unavailable, HttpFailed) as error:
                    if number:  # the first round may have had effects
                        raise Lost(str(error)) from error
                    raise
                if answer.get("resultType") != "input_required":
                    return answer
                sent = {**sent, **await _answers(call, answer, self.client.capabilities)}
        finally:
            self._questions.end(call)
            await self.client.queue.flush()
        raise MCPError(types.INTERNAL_ERROR, "the server asks for input again and again")

    def _meta(self, client: mcp.Client, given: Any) -> dict[str, Any]:
        """The metadata of a request, without what is for the client's own connection."""
        meta: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        level = meta.get(_LOG_LEVEL) or self.client.level
        own = {k: v for k, v in meta.items() if k != "progressToken" and _RESERVED not in k}
        return {**own, _LOG_LEVEL: level} if level and _is_modern(client) else own

    # -- what lasts ------------------------------------------------------------------------

    async def set_level(self) -> None:
        """Tell the server of the client's level, if it is connected; else it learns it then."""
        if self._client is not None:
            with suppress(MCPError):  # of a connection that is lost: the next one learns it
                await self._send_level(self._client)

    async def subscribe(self, uri: str, call: PassedRequest, params: Mapping[str, Any]) -> None:
        """Subscribe the client to updates of a resource.

        Raises:
            See `request`.
        """
        if uri not in self.uris and len(self.uris) >= _URIS:
            text = f"{_URIS} resources of the server are followed already"
            raise MCPError(types.INVALID_REQUEST, text)
        followed = self.uris.get(uri, 0) if is_modern(call.ctx) else 0
        if not followed:
            await self._subscribe("resources/subscribe", call, params)
        self.uris[uri] = followed + 1

    async def unsubscribe(self, uri: str, call: PassedRequest, params: Mapping[str, Any]) -> None:
        """End the subscription of the client.

        Raises:
            See `request`.
        """
        followed = self.uris.pop(uri, 0) - 1
        if followed > 0 and is_modern(call.ctx):
            self.uris[uri] = followed
            return
        await self._subscribe("resources/unsubscribe", call, params)

    async def listen_again(self) -> None:
        """Listen to the resources that are wanted now, if the server's protocol has that."""
        if self._client is not None:
            await self._connection.listen_again()

    async def _subscribe(self, method: str, call: PassedRequest, params: Mapping[str, Any]) -> None:
        if not _is_modern(await self._connection.connected()):
            await self.request(method, params, call)

    async def roots_changed(self) -> None:
        """Tell the server that the client's roots have changed, if it is connected."""
        if self._client is not None and not _is_modern(self._client):
            await self._client.session.send_notification(types.RootsListChangedNotification())

    # -- what the server sends on its own --------------------------------------------------

    async def _opened(self, client: mcp.Client) -> None:
        """Restore on a new connection what the client has asked for."""
        again, self._client = self._client is not None, client
        seconds = self.limits.connect_seconds
        await self._send_level(client)
        for uri in () if _is_modern(client) else sorted(self.uris):
            params = {"uri": uri}
            await _send(client, "resources/subscribe", params, seconds)
        if again:  # changes in between were not heard of
            for kind in ("tools", "prompts", "resources"):
                method = f"notifications/{kind}/list_changed"
                await self._heard(_Notification(method=method, params={}))

    async def _send_level(self, client: mcp.Client) -> None:
        offers = client.server_capabilities.logging is not None
        if self.client.level and offers and not _is_modern(client):
            seconds = self.limits.connect_seconds
            await _send(client, "logging/setLevel", {"level": self.client.level}, seconds)

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        """Pass a log message on, as a part of the answer to the request that it belongs to."""
        if not allows_level(self.client.level, params.level):
            return
        call, session = self._questions.call(), self.client.session

        async def send() -> None:
            if is_modern(session):
                if call is not None:
                    with warnings.catch_warnings():  # clients of earlier versions show it
                        warnings.simplefilter("ignore")
                        sending = call.ctx.session.send_log_message(
                            params.level, params.data, params.logger
                        )
                    await sending
                return
            related = None if call is None else call.ctx.request_id
            message = types.LoggingMessageNotification(params=params)
            await (session if call is None else call.ctx.session).send_notification(
                message, related
            )

        if self.client.alone or call is not None:
            self.client.queue.put(send)

    async def _heard(self, message: Any) -> None:
        """Pass a change on; resources only if the client wants to know."""
        if message.method not in _CHANGES:
            return
        uri = getattr(message.params, "uri", None)
        if uri is not None and not self.uris:
            return
        news = (message.method, uri or getattr(message.params, "elicitation_id", None))
        self.client.queue.put(partial(self.client.changed, message), once=news)


@attrs.define(eq=False)
class _Progress:
    """Passes the progress of one request on, at most as often as the limits allow."""

    call: PassedRequest
    queue: SendQueue
    most: int
    _count: int = attrs.field(default=0, init=False)

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        if self._count >= self.most:
            return
        self._count += 1
        self.queue.put(lambda: self.call.ctx.session.report_progress(progress, total, message))


def _is_modern(client: mcp.Client) -> bool:
    """Whether a server speaks the protocol since 2026."""
    return client.session.discover_result is not None


async def _send(client: mcp.Client, method: str, params: dict[str, Any], seconds: float) -> None:
    """Send a request whose answer says nothing; an error of the server is logged."""
    request = types.Request[dict[str, Any], str](method=method, params=params)
    try:
        await client.session.send_request(request, types.EmptyResult, seconds)
    except (MCPError, ValueError) as error:
        if isinstance(error, MCPError) and not is_of_server(error) and failure_in(error) is None:
            raise
        _log.warning("an MCP server refused %s: %s", method, fault_of(error))


async def _answers(
    call: PassedRequest, asked: Mapping[str, Any], can: types.ClientCapabilities
) -> dict[str, Any]:
    """The client's answers to the questions of a server, for the next request.

    Raises:
        MCPError: The client cannot answer one, or did not.
    """
    wanted = types.InputRequiredResult.model_validate(asked, by_name=False)
    questions = wanted.input_requests or {}
    refused = filter(None, (refusal(can, one) for one in questions.values()))
    if (error := next(refused, None)) is not None:
        raise MCPError.from_error_data(error)
    answers = await asyncio.gather(*(call.ask(one) for one in questions.values()))
    given: dict[str, Any] = {}
    for key, answer in zip(questions, answers, strict=True):
        if isinstance(answer, types.ErrorData):
            raise MCPError.from_error_data(answer)
        given[key] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    state = {} if wanted.request_state is None else {"requestState": wanted.request_state}
    return {"inputResponses": given, **state}
