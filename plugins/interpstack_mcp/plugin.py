"""The plugin object: hooks for one set of servers, or for the servers that an offer brings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs

from interpstack import (
    BridgeRegistry,
    Cell,
    ConfigurationError,
    HostOffer,
    HostTool,
    InterpreterStack,
    Outcome,
    Session,
    hookimpl,
)
from interpstack_mcp.bridges import tool_bridges
from interpstack_mcp.call_names import CallName
from interpstack_mcp.catalog import ToolCatalog
from interpstack_mcp.connections.servers import McpServers
from interpstack_mcp.prompt import servers_section

__all__ = ["McpCalls", "McpPlugin"]

#: Offers with a catalog that are remembered, so that the same one is bound again.
_REMEMBERED: Final = 16


@attrs.frozen(eq=False)
class McpCalls:
    """Part of a `HostOffer` by which an adapter runs the calls of MCP tools in its own way.

    Attributes:
        adapt: Takes a tool of a server, and returns the tool to call in its place, such as one that
            asks for an approval first. The name of a tool is `mcp.<server>.<tool>`, as in the
            configuration.
        required: Names of tools for which the adapter has rules, or patterns of them after `glob:`.
            If a server is available and has no tool of such a name, no cell runs.
        by_code: Whether the rules also apply to the names by which code calls the tools. Where they
            do not, such a name in `required` is the name of no tool.
    """

    adapt: Callable[[HostTool], HostTool]
    required: frozenset[str] = frozenset()
    by_code: bool = False


@attrs.define(eq=False)
class McpPlugin:
    """The hooks of MCP servers.

    Attributes:
        servers: The servers; `None` for those that are a part of the offer.
        name: The name of the plugin in a stack.
    """

    servers: McpServers | None = None
    name: str = attrs.field(default="mcp", init=False)
    _offers: dict[tuple[int, int], tuple[HostOffer, HostOffer]] = attrs.field(
        factory=dict, init=False
    )
    #: The servers that each session uses, and the faults that its reader knows.
    _sessions: WeakKeyDictionary[Session, tuple[McpServers, set[str]]] = attrs.field(
        factory=WeakKeyDictionary, init=False
    )

    @hookimpl
    def interpstack_register_bridges(
        self, register: BridgeRegistry, stack: InterpreterStack, offer: HostOffer
    ) -> None:
        servers = self._of(offer)
        if servers is None:
            return
        names = servers.names(stack.language)
        catalog = offer.part(ToolCatalog) or ToolCatalog(dict.fromkeys(names.values(), ""), {})
        for bridge in tool_bridges(catalog, stack.language):
            register.bridge(bridge)

    @hookimpl
    def interpstack_prompt_section(self, stack: InterpreterStack, offer: HostOffer) -> str | None:
        servers = self._of(offer)
        if servers is None:
            return None
        names = servers.names(stack.language).values()
        catalog = offer.part(ToolCatalog) or servers.last(stack.language)
        return servers_section(names, catalog, stack.language, offer.code_tool)

    @hookimpl
    def interpstack_wrap_eval(self, session: Session, cell: Cell) -> Any:
        servers = self._of(session.offer)
        if servers is None:
            return None

        async def connected(run: Callable[[], Awaitable[Outcome]]) -> Outcome:
            known = self._entered(session, servers)
            catalog = await servers.catalog(session.language)
            calls = session.offer.part(McpCalls)
            if calls is not None:
                _check_required(calls, catalog, servers)
            for fault in catalog.faults:
                if fault not in known:
                    session.notify(fault)
            known.clear()
            known.update(catalog.faults)
            session.bind(self._with(session.offer, catalog, calls))
            return await run()

        return connected

    @hookimpl
    async def interpstack_session_closing(self, session: Session) -> None:
        known = self._sessions.pop(session, None)
        if known is not None:
            await known[0].leave(session)

    def _of(self, offer: HostOffer) -> McpServers | None:
        """The servers that code of an offer may use."""
        return offer.part(McpServers) or self.servers

    def _entered(self, session: Session, servers: McpServers) -> set[str]:
        """The faults that the reader of a session knows; the session uses the servers from now."""
        if session not in self._sessions:
            servers.enter(session)
            self._sessions[session] = (servers, set())
        return self._sessions[session][1]

    def _with(self, offer: HostOffer, catalog: ToolCatalog, calls: McpCalls | None) -> HostOffer:
        """The offer with the tools of a catalog; the same one for the same offer and catalog."""
        bound = offer.part(ToolCatalog)
        if bound is not None and catalog in (bound, bound.source):
            return offer
        key = (id(offer), id(catalog))
        known = self._offers.get(key)
        if known is not None and known[0] is offer:
            return known[1]
        rest = tuple(part for part in offer.parts if not isinstance(part, ToolCatalog))
        made = attrs.evolve(offer, parts=(*rest, _adapted(catalog, calls)))
        self._offers = {**dict(list(self._offers.items())[1 - _REMEMBERED :]), key: (offer, made)}
        return made


def _adapted(catalog: ToolCatalog, calls: McpCalls | None) -> ToolCatalog:
    if calls is None:
        return catalog
    tools = {name: calls.adapt(tool) for name, tool in catalog.tools.items()}
    return attrs.evolve(catalog, tools=tools, source=catalog)


def _check_required(calls: McpCalls, catalog: ToolCatalog, servers: McpServers) -> None:
    """Refuse rules for tools that do not exist: a misspelt name would let calls run without them.

    Raises:
        ConfigurationError: There is no tool of a name.
    """
    tools = [
        (f"mcp.{name}", tool.name) if calls.by_code else (tool.name,)
        for name, tool in catalog.tools.items()
    ]
    names = [server.name for server in servers.servers]
    for required in map(CallName, sorted(calls.required)):
        if any(map(required.match, tools)):
            continue
        server = required.server(names) or ""
        listed = sorted(tool for *_, tool in tools if tool.startswith(f"mcp.{server}."))
        if listed:  # else the server is not available, and none of its tools can be called
            raise ConfigurationError(
                f"{required.given!r} needs an approval, but MCP server {server!r} has no such "
                f"tool; it has: {', '.join(listed[:20])}"
            )
