"""One bridge per tool of a server, and functions that find tools and read resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from interpstack import Bridge, CellContext, GuestLanguage, HostTool
from interpstack_agents import found_tools, tool_handler
from interpstack_mcp.catalog import ToolCatalog

__all__ = ["tool_bridges"]

_OWNER: Final = "interpstack_mcp"
#: Characters of a server's own words.
_ABOUT_CHARS: Final = 4000
#: Characters of one line on a tool.
_LINE_CHARS: Final = 200


def tool_bridges(catalog: ToolCatalog, language: GuestLanguage) -> Iterator[Bridge]:
    """Bridges for the tools of a catalog, as the guest's language calls them."""
    for name, tool in catalog.tools.items():
        yield Bridge(
            name=f"mcp.{name}",
            handler=tool_handler(f"mcp.{name}", tool, language),
            on_loop=True,
            declaration=_declaration(language, name, tool),
            owner=_OWNER,
            raw=True,
            tool=tool.name,
            passes=tool.passes,
        )
    for helper, handler in (
        ("search", _search(catalog)),
        ("describe", _describe(catalog, language)),
        ("read", _read(catalog)),
    ):
        yield Bridge(name=f"mcp.{helper}", handler=handler, owner=_OWNER, raw=True, listed=False)


def _declaration(language: GuestLanguage, name: str, tool: HostTool) -> str:
    return language.signature(name.rpartition(".")[2], tool) if language.declares else ""


def _search(catalog: ToolCatalog) -> Any:
    async def search(text: Any) -> list[dict[str, str]]:
        """Names and summaries of the tools that have all words of a text, best first."""
        return found_tools(catalog.tools, text)

    return search


def _read(catalog: ToolCatalog) -> Any:
    async def read(link: Any, context: CellContext) -> list[dict[str, Any]]:
        """The contents of a resource to which a result of a tool links, by the link or its URI."""
        if catalog.read is None:
            raise LookupError("no MCP server is connected; call a tool of one first")
        contents: list[dict[str, Any]] = await catalog.read(link, context)
        return contents

    return read


def _describe(catalog: ToolCatalog, language: GuestLanguage) -> Any:
    async def describe(name: Any) -> str:
        """The signature and description of one tool, or the tools of one server."""
        wanted = name.removeprefix("mcp.") if isinstance(name, str) else ""
        tool = catalog.tools.get(wanted)
        if tool is not None:
            return language.signature(wanted.rpartition(".")[2], tool)
        if wanted in catalog.servers:
            return _server(catalog, wanted)
        shown = repr(name[:100]) if isinstance(name, str) else "of that name"
        missing = " ".join(["", *catalog.faults])[:_ABOUT_CHARS]
        raise LookupError(f"there is no MCP tool {shown}; find one with mcp.search.{missing}")

    return describe


def _server(catalog: ToolCatalog, server: str) -> str:
    """A server's own words, and a line on each of its tools."""
    about = catalog.servers[server].strip()[:_ABOUT_CHARS]
    lines = [
        f"{name}: {' '.join(tool.description.split())}"[:_LINE_CHARS]
        for name, tool in catalog.tools.items()
        if name.startswith(f"{server}.")
    ]
    listed = "\n".join(lines) or "no tools"
    return f"{about}\n\n{listed}" if about else listed
