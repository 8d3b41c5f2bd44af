"""The prompt section on MCP servers, whose length does not depend on the number of tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Final

from interpstack import GuestLanguage, HostTool
from interpstack_mcp.catalog import ToolCatalog

__all__ = ["servers_section"]

#: Read when this is imported: an event loop must not wait for files.
_TEXT: Final = (files("interpstack_mcp") / "prompt.md").read_text("utf-8").strip()
#: Characters that all signatures together may take; beyond them, code finds tools itself.
_SIGNATURES_CHARS: Final = 1000
#: Characters of the names of servers; the rest are counted.
_NAMES_CHARS: Final = 400


def servers_section(
    servers: Iterable[str], catalog: ToolCatalog | None, language: GuestLanguage, code_tool: str
) -> str:
    """The section for some servers.

    Args:
        servers: Names of the servers as code spells them.
        catalog: Their tools, if they are known yet.
        language: The guest's language.
        code_tool: Name of the tool to which the model passes code.
    """
    head = _TEXT.format(
        tool=code_tool,
        servers=_listed(servers),
        calling=language.words.calling,
        failing=language.words.failing,
    )
    tools = {} if catalog is None else catalog.tools
    signatures = [_signature(name, tool, language) for name, tool in tools.items()]
    if tools and sum(map(len, signatures)) <= _SIGNATURES_CHARS:
        return f"{head}\n\n{_by_server(tools, signatures, language)}"
    return f"{head}\n\n{_finding(language)}"


def _signature(name: str, tool: HostTool, language: GuestLanguage) -> str:
    return language.signature(name.rpartition(".")[2], tool)


def _by_server(
    tools: Mapping[str, HostTool], signatures: list[str], language: GuestLanguage
) -> str:
    servers: dict[str, list[str]] = {}
    for name, signature in zip(tools, signatures, strict=True):
        servers.setdefault(name.partition(".")[0], []).append(signature)
    return "\n\n".join(
        f"On `mcp.{server}`:\n\n{language.listing(server, own)}" for server, own in servers.items()
    )


def _listed(servers: Iterable[str]) -> str:
    """Names of servers, up to a number of characters."""
    names = [f"`{name}`" for name in servers]
    shown: list[str] = []
    for name in names:
        if sum(map(len, shown)) + len(name) > _NAMES_CHARS:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown)


def _finding(language: GuestLanguage) -> str:
    """Calls of the functions that search for tools, as code in the guest's language."""
    words, calls = language.words, []
    for function, text in (("mcp.search", "words"), ("mcp.describe", "server.tool")):
        asking = words.asking.format(function=function, text=text) if words.asking else function
        calls.append(words.waiting.format(call=asking))
    search, describe = calls
    return (
        f"`{search}` finds tools by words, as a list of name and description; `{describe}` shows "
        "the signature of one, or, for the name of a server, its tools. Look tools up before you "
        "call them."
    )
