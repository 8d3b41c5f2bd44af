"""The tools of all servers under the names by which code calls them."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
from mcp import types

from interpstack import CellContext, ConfigurationError, GuestLanguage, HostTool
from interpstack_javascript.language import JAVASCRIPT
from interpstack_mcp.connections.listing import Listing
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.values import BLOCKS
from interpstack_python.language import PYTHON

__all__ = ["HELPERS", "ToolCatalog", "check_servers", "code_name", "made_catalog", "server_names"]

#: Functions of `mcp` itself, whose names no server can have.
HELPERS: Final = ("describe", "read", "search")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,127}", re.ASCII)
#: Characters that languages do not replace themselves, such as the slash in `files/read`.
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_$.\- ]+", re.ASCII)
_NAME_CHARS: Final = 128
#: Tools that do not fit the protocol and are named.
_LEFT_OUT: Final = 20
#: Makes the function that calls a tool of a server, from both names and the tool.
Caller = Callable[[str, types.Tool], Callable[[dict[str, Any], CellContext], Any]]


@attrs.frozen(eq=False)
class ToolCatalog:
    """Tools of MCP servers that code may call.

    Attributes:
        servers: Names of the servers as code spells them, with the servers' own words on their use.
        tools: Tools by their names in code, as `time.getCurrentTime`. The name of each `HostTool`
            has the names of the configuration and of the server: `mcp.time.get_current_time`.
        faults: Reasons why servers or tools are missing, for the reader of an outcome.
        read: Reads a resource that a tool has linked to; `None` before servers are connected.
        source: The catalog of which an adapter made this one; `None` for one as servers list it.
    """

    servers: Mapping[str, str]
    tools: Mapping[str, HostTool]
    faults: tuple[str, ...] = ()
    read: Callable[[Any, CellContext], Awaitable[Any]] | None = None
    source: ToolCatalog | None = None


def check_servers(names: Iterable[str]) -> None:
    """Refuse names of servers that code cannot use, before it is known in which language it is.

    Raises:
        ConfigurationError: A server has no name in code, or two have the same.
    """
    listed = list(names)
    for language in (JAVASCRIPT, PYTHON):
        server_names(listed, language)


def server_names(names: Iterable[str], language: GuestLanguage) -> dict[str, str]:
    """The names of servers as code spells them, by their names in the configuration.

    Raises:
        ConfigurationError: A server has no such name, or two have the same.
    """
    spelt: dict[str, str] = {}
    for name in names:
        made = _spelt(name, language, "mcp")
        if made is None or made in HELPERS:
            why = "is a function of mcp itself" if made in HELPERS else "is not a name in code"
            raise ConfigurationError(
                f"mcp server {name!r} cannot be offered to code: {made or name!r} {why}; rename it "
                "in the configuration"
            )
        for other, taken in spelt.items():
            if taken == made:
                raise ConfigurationError(
                    f"mcp servers {other!r} and {name!r} would both be mcp.{made} in "
                    f"{language.title}; rename one in the configuration"
                )
        spelt[name] = made
    return spelt


def made_catalog(
    listings: Mapping[str, Listing],
    offered: Mapping[str, frozenset[str] | None],
    language: GuestLanguage,
    limits: McpLimits,
    caller: Caller,
    read: Callable[[Any, CellContext], Awaitable[Any]] | None = None,
) -> ToolCatalog:
    """The catalog of what servers list.

    Args:
        listings: The tools of each server.
        offered: Names of the tools that the configuration lets code call, by server; `None` for
            all.
        language: The guest's language, which spells the names.
        limits: Limits of what a server sends.
        caller: Makes the functions that call tools.
        read: Reads a resource that a tool has linked to.
    """
    faults: list[str] = []
    tools: dict[str, HostTool] = {}
    spelt = server_names(listings, language)
    for server, listing in listings.items():
        if listing.fault:
            faults.append(f"MCP server {server!r} is not available: {listing.fault}")
        for name, why in listing.left_out[:_LEFT_OUT]:
            faults.append(f"MCP tool {name} of {server!r} is not offered: its {why}")
        if len(listing.left_out) > _LEFT_OUT:
            more = len(listing.left_out) - _LEFT_OUT
            faults.append(f"{more} more MCP tools of {server!r} do not fit the protocol")
        if not (listing.fault or listing.tools or listing.left_out):
            faults.append(f"MCP server {server!r} has no tools")
        names = offered.get(server)
        allowed = [tool for tool in listing.tools if names is None or tool.name in names]
        missing = sorted((names or set()) - {tool.name for tool in listing.tools})
        if missing and not listing.fault:
            listed = ", ".join(map(_short, missing))
            faults.append(f"MCP server {server!r} has no tool {listed}, which 'tools' lists")
        named, refused = _named(server, allowed, language, limits)
        faults += refused
        for name, tool in named.items():
            tools[f"{spelt[server]}.{name}"] = _host_tool(server, tool, caller(server, tool))
    about = {spelt[server]: listing.instructions for server, listing in listings.items()}
    return ToolCatalog(about, tools, tuple(faults), read)


def _named(
    server: str, tools: Sequence[types.Tool], language: GuestLanguage, limits: McpLimits
) -> tuple[dict[str, types.Tool], list[str]]:
    """The tools of one server by their names in code, and the reasons why others are left out."""
    names: dict[str, list[types.Tool]] = {}
    faults: list[str] = []
    for tool in tools:
        fault = _fault(tool, limits)
        name = None if fault else _spelt(tool.name, language, "mcp.server")
        if name is None:
            why = fault or "no name in code comes out of it"
            faults.append(f"MCP tool {_short(tool.name)} of {server!r} is not offered: {why}")
        else:
            names.setdefault(name, []).append(tool)
    for name, same in names.items():
        if len(same) > 1:
            listed = " and ".join(_short(tool.name) for tool in same[:5])
            faults.append(
                f"MCP tools {listed} of {server!r} are not offered: they would all be "
                f"mcp.…{name}; list one of them under 'tools' in the configuration"
            )
    return {name: same[0] for name, same in names.items() if len(same) == 1}, faults


def _fault(tool: types.Tool, limits: McpLimits) -> str:
    """The reason why a tool cannot be offered; empty if it can."""
    if not 0 < len(tool.name) <= _NAME_CHARS:
        return f"its name has {len(tool.name)} characters, at most {_NAME_CHARS} are accepted"
    if tool.execution is not None and tool.execution.task_support == "required":
        return "the server runs it only as a task, which code cannot start"
    schemas = json.dumps([tool.description, tool.input_schema, tool.output_schema])
    if len(schemas) > limits.tool_bytes:
        return (
            f"its description and schemas have {len(schemas)} bytes, at most {limits.tool_bytes} "
            "are accepted (McpLimits.tool_bytes)"
        )
    return ""


def _spelt(name: str, language: GuestLanguage, parent: str) -> str | None:
    """A name as code spells it; `None` if there is no such name."""
    made = language.identifier(_FOREIGN.sub("_", name))
    if made[:1].isdigit():
        made = f"_{made}"
    for candidate in (made, f"{made}_"):
        good = _IDENTIFIER.fullmatch(candidate) and candidate.strip("_")
        usable = good and not candidate.startswith("__")
        if usable and not language.name_fault(f"{parent}.{candidate}"):
            return candidate
    return None


def code_name(server: str, tool: str, language: GuestLanguage) -> str | None:
    """The name by which code calls a tool, with `mcp.` before it; `None` if it has none."""
    names = [_spelt(server, language, "mcp"), _spelt(tool, language, "mcp.server")]
    return None if None in names else f"mcp.{names[0]}.{names[1]}"


def _short(name: str) -> str:
    return repr(name[:_NAME_CHARS])


def _host_tool(server: str, tool: types.Tool, call: Any) -> HostTool:
    return HostTool(
        name=f"mcp.{server}.{tool.name}",
        description=tool.description or tool.title or "",
        input_schema=tool.input_schema,
        output_schema=BLOCKS if tool.output_schema is None else tool.output_schema,
        call=call,
    )
