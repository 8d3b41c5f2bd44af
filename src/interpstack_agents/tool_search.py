"""A search among tools by words, for code that has more tools than a prompt can show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interpstack import UNDEFINED, HostTool

__all__ = ["found_tools"]

#: Tools that one search names at most.
_FOUND: Final = 20
#: Characters of the text that a search looks for.
_SEARCH_CHARS: Final = 1000


def found_tools(named: Mapping[str, HostTool], text: Any) -> list[dict[str, str]]:
    """Names and summaries of the tools that have all words of a text, best first.

    Args:
        named: Tools by their names in code.
        text: The text from code; none finds any tool.

    Raises:
        TypeError: Code passed something other than a text.
        ValueError: The text is too long.
    """
    words = _words(text)
    scored = [(_score(name, tool, words), name) for name, tool in named.items()]
    best = sorted((-score, name) for score, name in scored if score > 0 or not words)
    return [
        {"name": name, "description": named[name].description.strip().partition("\n")[0]}
        for _, name in best[:_FOUND]
    ]


def _words(text: Any) -> list[str]:
    """The words that a search looks for; the host is busy with each of them in every tool."""
    if text is UNDEFINED or text is None:
        return []
    if not isinstance(text, str):
        raise TypeError("a search for tools takes a string")
    if len(text) > _SEARCH_CHARS:
        raise ValueError(f"a search for tools takes at most {_SEARCH_CHARS} characters")
    return list(dict.fromkeys(text.lower().split()))


def _score(name: str, tool: HostTool, words: list[str]) -> int:
    title, body = f"{name} {tool.name}".lower(), tool.description.lower()
    if not all(word in title or word in body for word in words):
        return 0
    return sum(2 if word in title else 1 for word in words)
