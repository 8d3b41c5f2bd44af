"""One bridge per tool, and two to find tools by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from interpstack import (
    Bridge,
    BridgeError,
    ConfigurationError,
    GuestLanguage,
    HostTool,
)
from interpstack_agents import found_tools, tool_fault, tool_handler
from interpstack_ptc.names import guest_names

__all__ = ["tool_bridges"]

_OWNER = "interpstack_ptc"
#: Bridges by name and by the ids of the tool and the language, which their handlers keep alive.
#: Adapters may hand the same tool to one new stack after another.
_made: WeakValueDictionary[tuple[str, int, int], Bridge] = WeakValueDictionary()


def tool_bridges(tools: Iterable[HostTool], language: GuestLanguage) -> Iterator[Bridge]:
    """Bridges for tools, as the guest's language calls them.

    The two helpers are there even without a tool, so `tools` is; code that lists the names of
    `tools` finds only tools.
    """
    named = guest_names(tools, language)
    _refuse_helpers(named, language)
    for name, tool in named.items():
        key = name, id(tool), id(language)
        bridge = _made.get(key)
        if bridge is None:
            bridge = _made[key] = _tool_bridge(name, tool, language)
        yield bridge
    search, look_up_name = (f"tools.{name}" for name in _helpers(language))
    yield Bridge(name=search, handler=_search(named), owner=_OWNER, raw=True, listed=False)
    look_up = _describe(named, language, search)
    yield Bridge(name=look_up_name, handler=look_up, owner=_OWNER, raw=True, listed=False)


def _helpers(language: GuestLanguage) -> tuple[str, str]:
    """The names of the two helpers in a guest of this language."""
    return f"{language.helper_prefix}search", f"{language.helper_prefix}describe"


def _refuse_helpers(named: Mapping[str, HostTool], language: GuestLanguage) -> None:
    for name in _helpers(language):
        if name in named:
            raise ConfigurationError(
                f"tool {named[name].name!r} cannot be offered to code: tools.{name} is a helper "
                "to find tools by; rename the tool, or leave it out of ptc"
            )


def _tool_bridge(name: str, tool: HostTool, language: GuestLanguage) -> Bridge:
    fault = language.name_fault(f"tools.{name}")
    if fault:
        raise BridgeError(
            f"tool {tool.name!r} cannot be offered to code: {fault}; rename the tool, or leave it "
            "out of ptc"
        )
    return Bridge(
        name=f"tools.{name}",
        handler=tool_handler(f"tools.{name}", tool, language),
        on_loop=True,
        # Engines check code by it, so it has what the tool declares and nothing that was learned.
        declaration=language.signature(name, tool.declared) if language.declares else "",
        owner=_OWNER,
        raw=True,
        concurrency=tool.concurrency,
        budget=tool.budget,
        tool=tool.name,
        refuses=partial(tool_fault, f"tools.{name}", tool, language),
        passes=tool.passes,
    )


def _search(named: dict[str, HostTool]) -> Any:
    async def search(text: Any) -> list[dict[str, str]]:
        return found_tools(named, text)

    return search


def _describe(named: dict[str, HostTool], language: GuestLanguage, search: str) -> Any:
    async def describe(name: Any) -> str:
        """The signature and description of one tool."""
        wanted = name.removeprefix("tools.") if isinstance(name, str) else ""
        tool = named.get(wanted)
        if tool is None:
            shown = repr(name[:100]) if isinstance(name, str) else "of that name"
            raise LookupError(f"there is no tool {shown}; find one with {search}")
        return language.signature(wanted, tool)

    return describe
