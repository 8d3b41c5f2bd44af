"""The plugin of a server's stack: calls that need an approval wait for it, others are counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from interpstack import (
    UNDEFINED,
    Bridge,
    GuestException,
    GuestLanguage,
    HostOffer,
    Request,
    Session,
    Settlement,
    UnsupportedValue,
    call_blocking,
    decode,
    hookimpl,
)
from interpstack_agents import readable_json, tool_input
from interpstack_mcp.connections.servers import McpServers
from interpstack_mcp.serving.runs import ServedCell
from interpstack_mcp.values import to_arguments

__all__ = ["GATE", "ApprovalGate", "shown_arguments"]

#: Characters of the arguments that a person is shown. Longer ones cannot be approved.
_SHOWN_CHARS: Final = 4000


class ApprovalGate:
    """The hooks of the plugin."""

    name = "mcp-gate"

    @hookimpl
    def interpstack_wrap_request(self, session: Session, request: Request) -> Any:
        run = session.host
        if not isinstance(run, ServedCell):
            return None

        async def gated(make: Callable[[], Awaitable[Settlement]]) -> Settlement:
            bridges = session.stack.bridge_set(session.offer)
            bridge = bridges.get(request.bridge)
            if run.needs_approval(_names(bridge, request)):
                given = await _arguments(session.offer, bridges.language, bridge, request)
                try:
                    shown = shown_arguments(given)
                except ValueError as error:
                    raise GuestException(
                        f"{request.bridge} was not called: {error}", rejected=True
                    ) from error
                await run.approve(request.bridge, shown)
            try:
                return await make()
            finally:
                run.called(request.bridge)

        return gated


def _names(bridge: Bridge | None, request: Request) -> set[str]:
    """The names of a call: of its bridge, and of the tool behind it."""
    return {request.bridge} if bridge is None else {request.bridge, bridge.tool or bridge.name}


async def _arguments(
    offer: HostOffer, language: GuestLanguage, bridge: Bridge | None, request: Request
) -> Any:
    """The arguments of a call, as a person reads them; nobody is asked about ones that do not fit.

    Raises:
        GuestException: The arguments do not fit the bridge, or the tool behind it.
    """
    try:
        return await call_blocking(partial(_bind, offer, language, bridge, request))
    except (TypeError, ValueError) as error:
        name = "ToolError" if isinstance(error, UnsupportedValue) else "TypeError"
        raise GuestException(f"{error}", name=name, tool=request.bridge) from error


def _bind(
    offer: HostOffer, language: GuestLanguage, bridge: Bridge | None, request: Request
) -> Any:
    """Make the arguments of a call, as the call does."""
    given = request.wire if request.plain else decode(request.wire)
    if bridge is None:
        return given
    bridge.arguments(given, language)
    servers = offer.part(McpServers)
    catalog = None if servers is None else servers.last(language)
    remote = catalog.tools.get(bridge.name.removeprefix("mcp.")) if catalog is not None else None
    if remote is not None and bridge.name.startswith("mcp."):
        return to_arguments(tool_input(bridge.name, remote, language, given))
    for tool in offer.tools:
        if bridge.tool == tool.name:
            return tool_input(bridge.name, tool, language, given)
    return {} if given is UNDEFINED else given


def shown_arguments(arguments: Any) -> str:
    """The arguments of a call, complete: what is approved is what is done.

    Args:
        arguments: The arguments, as the call gets them.

    Raises:
        ValueError: There are too many for a person.
    """
    text = readable_json(arguments, ascii_only=True)
    if len(text) > _SHOWN_CHARS:
        raise ValueError(
            f"it needs an approval, and its arguments have {len(text)} characters; "
            f"a person is shown at most {_SHOWN_CHARS}, so pass shorter ones"
        )
    return text


#: The plugin, as a stack takes it.
GATE: Final = ApprovalGate()
