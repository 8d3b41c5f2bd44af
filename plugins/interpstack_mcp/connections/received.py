"""Messages of a server, checked before the SDK acts on them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import anyio
import attrs
from mcp import types
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.message import SessionMessage
from mcp.types import (
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp.types.methods import validate_server_result
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from interpstack_mcp.connections.causes import printable
from interpstack_mcp.connections.failures import Rejected, Unavailable, failed_request, marked
from interpstack_mcp.connections.messages import infinite_in
from interpstack_mcp.faults import fault_of
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.request_ids import NumericTexts

__all__ = ["ReceivedMessages", "checked_messages"]

_log = logging.getLogger("interpstack.mcp")

#: Seconds in which a server answers the question for its version; those before 2026 may ignore it.
_PROBE_SECONDS: Final = 2.0
_PROBE: Final = "server/discover"
#: The field of a request's metadata with the version of the protocol, since 2026.
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
#: The field of a request's metadata with what the client can do, since 2026.
_ABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_LAST_WITH_HANDSHAKE: Final = "2025-11-25"
#: Lists of a server: the field of the answer, and the field that names an item.
_LISTS: Final[Mapping[str, tuple[str, str]]] = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
#: Requests for lists whose answers are awaited; older ones are forgotten.
_AWAITED: Final = 256
#: Characters of the name of an item that is left out.
_NAME_CHARS: Final = 128
#: Notifications that something comes of.
_HEARD: Final[Mapping[str, type[BaseModel]]] = {
    "notifications/cancelled": types.CancelledNotification,
    "notifications/elicitation/complete": types.ElicitCompleteNotification,
    "notifications/message": types.LoggingMessageNotification,
    "notifications/progress": types.ProgressNotification,
    "notifications/prompts/list_changed": types.PromptListChangedNotification,
    "notifications/resources/list_changed": types.ResourceListChangedNotification,
    "notifications/resources/updated": types.ResourceUpdatedNotification,
    "notifications/subscriptions/acknowledged": types.SubscriptionsAcknowledgedNotification,
    "notifications/tools/list_changed": types.ToolListChangedNotification,
}


@attrs.define(eq=False)
class ReceivedMessages:
    """What is known of the messages of one connection.

    Attributes:
        limits: Limits of everything that the server sends.
        server: Name of the server.
        probed: Whether the server was asked for its version and has not answered.
        ignored: Whether it did not answer in time.
        left_out: Items of lists that do not fit the protocol, with the reasons, by method.
    """

    limits: McpLimits
    server: str = ""
    probed: bool = attrs.field(default=False, init=False)
    ignored: bool = attrs.field(default=False, init=False)
    left_out: dict[str, list[tuple[str, str]]] = attrs.field(factory=dict, init=False)

    def probe(self) -> None:
        """Note that the server is asked for its version."""
        self.probed, self.ignored = True, False

    def ignore(self) -> None:
        """Note that the server does not answer in time."""
        self.ignored = True

    def answer(self) -> None:
        """Note that the server has answered the question."""
        self.probed = self.ignored = False


@asynccontextmanager
async def checked_messages(
    transport: AbstractAsyncContextManager[tuple[Any, Any]],
    received: ReceivedMessages,
    abilities: types.ClientCapabilities | None = None,
) -> AsyncIterator[tuple[Any, Any]]:
    """A transport whose messages are checked.

    Notifications that nothing comes of, or that are malformed, are dropped: the SDK would log each.
    So are cancellations that the SDK would take for those of other requests, and notifications
    with a number that JSON lacks, which whoever passes them on would send as `null`. A question
    with such a number is refused.
    A result with too many content blocks becomes an error, because each costs the SDK much time.
    An item of a list that does not fit the protocol is left out, and not the whole list.
    The question for the version is answered for a server that ignores it.

    Args:
        transport: Yields the streams of messages from and to a server.
        received: Notes what is found out.
        abilities: The abilities that the server is offered; `None` for what the SDK says.
    """
    async with transport as (incoming, outgoing):
        checked = _Checked(incoming, received)
        offered = None if abilities is None else _json(abilities)
        yield checked, _Noted(outgoing, checked, offered)


@attrs.define(eq=False)
class _Checked:
    """A stream of messages, as the SDK reads it."""

    stream: Any
    received: ReceivedMessages
    _ids: NumericTexts = attrs.field(factory=NumericTexts, init=False)
    #: Requests for lists, by id: the method, and the version of the protocol if they name it.
    _lists: dict[str | int, tuple[str, str | None]] = attrs.field(factory=dict, init=False)
    _handshake: str | int | None = attrs.field(default=None, init=False)
    _version: str = attrs.field(default=_LAST_WITH_HANDSHAKE, init=False)
    _probe: str | int | None = attrs.field(default=None, init=False)
    #: The question for the version that was not answered in time; a slow server may answer later.
    _late: str | int | None = attrs.field(default=None, init=False)
    _negotiated: bool = attrs.field(default=False, init=False)
    _reading: anyio.CancelScope | None = attrs.field(default=None, init=False)
    _timer: asyncio.TimerHandle | None = attrs.field(default=None, init=False)
    _told: bool = attrs.field(default=False, init=False)

    @property
    def last_context(self) -> Any:
        """The context of the sender, where the transport passes it."""
        return getattr(self.stream, "last_context", None)

    async def receive(self) -> Any:
        while (item := self._checked(await self._next())) is None:
            pass
        return item

    async def aclose(self) -> None:
        self._stop()
        await self.stream.aclose()

    async def __aenter__(self) -> _Checked:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        self._stop()
        return await self.stream.__aexit__(*error)

    def __aiter__(self) -> _Checked:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    # -- the question for the version ------------------------------------------------------

    async def _next(self) -> Any:
        """The next message; while the version is not known, also the end of the time for it."""
        while not self._negotiated:
            with anyio.CancelScope() as self._reading:
                return await self.stream.receive()
            if self.received.ignored and self._probe is not None:
                probe, self._probe, self._late = self._probe, None, self._probe
                why = Unavailable(f"no answer to {_PROBE} in {_PROBE_SECONDS:g} seconds")
                return SessionMessage(failed_request(probe, why, METHOD_NOT_FOUND))
        return await self.stream.receive()

    def sent(self, message: Any) -> None:
        """Note a request to the server, before it is sent."""
        if not isinstance(message, JSONRPCRequest):
            return
        if message.method == _PROBE:
            self._probe = message.id
            self.received.probe()
            self._stop()
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_PROBE_SECONDS, self._ignored)
        elif message.method == "initialize":
            self._handshake = message.id
        elif message.method in _LISTS:
            meta = (message.params or {}).get("_meta") or {}
            self._lists = dict([*self._lists.items()][1 - _AWAITED :])
            self._lists[message.id] = (message.method, meta.get(_VERSION))

    def _ignored(self) -> None:
        if self._probe is not None:
            self.received.ignore()
            if self._reading is not None:
                self._reading.cancel()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    # -- checks ----------------------------------------------------------------------------

    def _checked(self, item: Any) -> Any:
        """The item, what takes its place, or `None` if it is dropped."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCNotification):
            if not _is_heard(message) or not self._ids.allows(message):
                return None
            return None if self._is_infinite(message) else item
        if isinstance(message, JSONRPCRequest):
            self._ids.allows(message)
            if self._is_infinite(message):
                return _instead(item, _refused_question(message))
        elif isinstance(message, JSONRPCError):
            self._answered(message.id)
            changed = marked(message)
            return item if changed is message else _instead(item, changed)
        elif isinstance(message, JSONRPCResponse):
            return self._result(item, message)
        return item

    def _is_infinite(self, message: JSONRPCNotification | JSONRPCRequest) -> bool:
        """Whether a message has a number that JSON lacks, which is logged once per connection."""
        place = infinite_in("params", message.params)
        if place and not self._told:
            self._told = True
            _log.warning(
                "%s of server %s was refused, and so will be others like it: %s is no number of "
                "JSON, which has no NaN, no Infinity and nothing beyond 1.8e308",
                printable(message.method)[:_NAME_CHARS],
                self.received.server,
                place,
            )
        return bool(place)

    def _answered(self, request: str | int | None) -> None:
        if request is not None and coerce_request_id(request) == self._probe:
            self._probe = None
            self.received.answer()
            self._stop()

    def _result(self, item: Any, message: JSONRPCResponse) -> Any:
        self._answered(message.id)
        request = coerce_request_id(message.id)
        if request == self._late and self._handshake is not None and not self._negotiated:
            return self._newer(message.result.get("supportedVersions"))
        if request == self._handshake:
            self._negotiated = True
            self._version = str(message.result.get("protocolVersion"))
        content, most = message.result.get("content"), self.received.limits.blocks
        if isinstance(content, list) and len(content) > most:
            reason = f"the result has more than {most} content blocks (McpLimits.blocks)"
            return SessionMessage(failed_request(message.id, Rejected(reason)))
        if (asked := self._lists.pop(request, None)) is not None:
            self._negotiated = True
            method, version = asked
            left_out = self.received.left_out.setdefault(method, [])
            left_out += _leave_out(method, version or self._version, message.result)
        return item

    def _newer(self, supported: Any) -> Any:
        """The end of the older handshake, where a server has named its version late.

        A server that starts slowly answers the question first, and then takes no older handshake.
        The SDK asks again when it learns the versions in this way.
        """
        named = {*map(str, supported)} if isinstance(supported, list) else set()
        if named.isdisjoint(MODERN_PROTOCOL_VERSIONS):
            return None
        handshake, self._handshake = self._handshake or 0, None
        self.received.answer()
        data = {"supported": sorted(named), "requested": _LAST_WITH_HANDSHAKE}
        text = "the server has named its versions"
        error = ErrorData(code=UNSUPPORTED_PROTOCOL_VERSION, message=text, data=data)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=handshake, error=error))


def _refused_question(message: JSONRPCRequest) -> JSONRPCRequest:
    """A question that the SDK answers with an error: it lacks the fields that its method needs."""
    return message.model_copy(update={"params": {}})


def _instead(item: SessionMessage, message: JSONRPCMessage) -> SessionMessage:
    """A message with the metadata of another one."""
    return SessionMessage(message, metadata=item.metadata)


@attrs.define(eq=False)
class _Noted:
    """A stream of messages to a server, as the SDK writes it."""

    stream: Any
    checked: _Checked
    abilities: dict[str, Any] | None

    async def send(self, item: Any) -> None:
        self.checked.sent(item.message)
        if self.abilities is not None and isinstance(item.message, JSONRPCRequest):
            item = replace(item, message=_with_abilities(item.message, self.abilities))
        await self.stream.send(item)

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def __aenter__(self) -> _Noted:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self.stream.__aexit__(*error)


def _with_abilities(message: JSONRPCRequest, abilities: dict[str, Any]) -> JSONRPCRequest:
    """A request that tells what the client can do: the handshake, or each one since 2026."""
    params = message.params or {}
    meta = params.get("_meta") or {}
    if message.method == "initialize":
        params = {**params, "capabilities": abilities}
    elif _ABILITIES in meta:
        params = {**params, "_meta": {**meta, _ABILITIES: abilities}}
    else:
        return message
    return message.model_copy(update={"params": params})


def _json(abilities: types.ClientCapabilities) -> dict[str, Any]:
    return abilities.model_dump(by_alias=True, mode="json", exclude_none=True)


def _leave_out(method: str, version: str, result: dict[str, Any]) -> list[tuple[str, str]]:
    """Leave the items out of a list that do not fit the protocol; return them with the reasons."""
    field, key = _LISTS[method]
    items = result.get(field)
    if not isinstance(items, list):
        return []
    whole = not _fault(method, version, result)
    good: list[Any] = []
    reasons: list[tuple[str, str]] = []
    for number, item in enumerate(items):
        fault = "" if whole else _fault(method, version, {**result, field: [item]})
        if fault := fault or _fault_of_headers(method, version, item):
            given = item.get(key) if isinstance(item, dict) else None
            name = printable(given)[:_NAME_CHARS] if isinstance(given, str) else f"number {number}"
            reasons.append((repr(name), fault.removeprefix(f"{field}.0.")))
        else:
            good.append(item)
    result[field] = good
    return reasons


def _fault(method: str, version: str, result: dict[str, Any]) -> str:
    """The fault of a list; empty if there is none."""
    try:
        validate_server_result(method, version, result)
    except ValidationError as error:
        return fault_of(error)
    except (KeyError, ValueError):  # of a version that the SDK does not know, and refuses itself
        return ""
    return ""


def _fault_of_headers(method: str, version: str, item: Any) -> str:
    """Why the SDK would drop a tool, with a word in its log only; empty if it would not."""
    if method != "tools/list" or version not in MODERN_PROTOCOL_VERSIONS:
        return ""
    return find_invalid_x_mcp_header(item.get("inputSchema")) or ""


def _is_heard(message: JSONRPCNotification) -> bool:
    kind = _HEARD.get(message.method)
    if kind is None:
        return False
    try:
        kind.model_validate({"method": message.method, "params": message.params}, by_name=False)
    except ValueError:
        return False
    return True
