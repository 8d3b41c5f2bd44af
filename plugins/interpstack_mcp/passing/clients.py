"""The clients of a server, and what each of them reaches through it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any

import attrs
from mcp import types
from mcp.shared.exceptions import MCPError

from interpstack import ConfigurationError, InterpreterStack
from interpstack_mcp.configuration import Server
from interpstack_mcp.connections.servers import McpServers
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.passing.approving import Approving
from interpstack_mcp.passing.client import PassingClient
from interpstack_mcp.passing.gateway import Gateway
from interpstack_mcp.serving.approvals import ApprovalPatterns
from interpstack_mcp.serving.clients import Clients, client_key, names_sessions
from interpstack_mcp.serving.tools import TOOL_NAMES

__all__ = ["PassingClients", "gateway_of"]


def gateway_of(
    through: Iterable[str], patterns: ApprovalPatterns, stack: InterpreterStack, clients: Clients
) -> Gateway | None:
    """The gateway to the named servers; `None` without names.

    Raises:
        ConfigurationError: There is no server of a name.
    """
    names = tuple(dict.fromkeys(through))
    if not names:
        return None
    servers = clients.offer.part(McpServers)
    known = {} if servers is None else {one.name: one for one in servers.servers}
    for name in names:
        if name not in known:
            listed = (
                f"configured servers: {', '.join(known)}"
                if known
                else "no server is configured (--mcp FILE)"
            )
            raise ConfigurationError(
                f"through names {name!r}, which is not a configured MCP server; {listed}"
            )
    limits = McpLimits() if servers is None else servers.limits
    finding = PassingClients(clients, tuple(known[name] for name in names), limits)
    return Gateway(finding.of, Approving(patterns, stack.language), frozenset(TOOL_NAMES))


@attrs.define(eq=False)
class PassingClients:
    """Finds the client of a request.

    Attributes:
        clients: All clients of the server.
        servers: The servers that they reach through it.
        limits: Limits of everything that these send.
    """

    clients: Clients
    servers: tuple[Server, ...]
    limits: McpLimits
    _older: set[str] = attrs.field(factory=set, init=False)
    _secret: str = attrs.field(factory=lambda: secrets.token_urlsafe(16), init=False)

    async def of(self, ctx: Any) -> PassingClient:
        """The client of a request.

        Clients whose protocol has no sessions share connections if they have the same owner and can
        do the same.

        Raises:
            MCPError: Too many clients are busy.
        """
        session = ctx.session
        capabilities = session.client_capabilities or types.ClientCapabilities()
        key, owner = client_key(ctx)
        alone = not names_sessions(ctx)
        if not alone:
            shared = f"{owner!r}{capabilities.model_dump_json()}".encode()
            key = f"{self._secret}/{hashlib.sha256(shared).hexdigest()}"
        try:
            client = await self.clients.client(key, owner)
        except ConfigurationError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        own = frozenset(TOOL_NAMES)

        def make() -> PassingClient:
            idle = self.clients.limits.idle_seconds
            given = (session, capabilities, alone, own, idle, self._older)
            made = PassingClient(self.servers, self.limits, *given)
            if alone and ctx.request is not None:
                # The SDK ends a session with this stack, and has no public name for it.
                session._connection.exit_stack.push_async_callback(made.aclose)  # noqa: SLF001
            return made

        passing = client.beside(PassingClient, make)
        passing.heard_from(session)
        return passing
