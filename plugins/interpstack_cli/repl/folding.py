"""Breaks the text of a large value into lines, as its brackets tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

import attrs

__all__ = ["fold"]

_STEP: Final = 2
#: Characters up to which a text is looked through.
_MOST: Final = 200_000
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_STRINGS: Final = {quote: rf"{quote}(?:\\.|[^{quote}\\])*+{quote}" for quote in "\"'`"}
_OTHERS: Final = r"[()\[\]{}]|, ?|[^\"'`()\[\]{},]+|."
#: What a value with brackets begins with: maybe the name of its class, and a count.
_HEAD: Final = re.compile(r"(?:[A-Za-z_$][\w$.]*(?:\(\d+\))? ?)?[(\[{]")


def fold(text: str, width: int) -> str:
    """The text of one value in lines of about this width.

    Text stays unchanged if it fits, has several lines, or is not a single value in brackets.
    """
    if not width < len(text) <= _MOST or "\n" in text or not _HEAD.match(text):
        return text
    tokens = _tokens(text)
    groups = _groups(tokens)
    return _laid_out(tokens, groups, width) if groups else text


def _tokens(text: str) -> list[str]:
    """Strings, brackets, commas and what is between them; a quote that is not closed is alone."""
    tokens: list[str] = []
    quotes, at = "".join(_STRINGS), 0
    while at < len(text):
        for found in _token(quotes).finditer(text, at):
            tokens.append(found[0])
            at = found.end()
            if found[0] in _STRINGS:
                # No later one of its kind is closed, either: to look takes as long for each.
                quotes = quotes.replace(found[0], "")
                break
    return tokens


@cache
def _token(quotes: str) -> re.Pattern[str]:
    return re.compile("|".join([*(_STRINGS[quote] for quote in quotes), _OTHERS]), re.DOTALL)


@attrs.define
class _Group:
    """The items between two brackets.

    Attributes:
        place: The position of the first one among the tokens.
        size: Characters, brackets included; at first the negative place in the text.
        plain: There are no brackets in it.
    """

    place: int
    size: int
    plain: bool = True

    def nest(self) -> None:
        """Note that brackets are opened inside."""
        self.plain = False

    def close(self, end: int) -> None:
        """Note the place in the text where the group ends."""
        self.size += end


def _groups(tokens: list[str]) -> Mapping[int, _Group] | None:
    """Groups by the place of their first bracket; `None` if it is not a value in brackets."""
    opened: list[_Group] = []
    groups: dict[int, _Group] = {}
    at, whole = 0, False
    for place, token in enumerate(tokens):
        if whole and token.strip():
            return None  # something follows the value
        if token in _CLOSING:
            if opened:
                opened[-1].nest()
            opened.append(_Group(place, -at))
        elif token in _CLOSING.values():
            if not opened or _CLOSING[tokens[opened[-1].place]] != token:
                return None
            group = opened.pop()
            group.close(at + len(token))
            groups[group.place] = group
            whole = not opened and tokens[group.place] != "("
        at += len(token)
    return None if opened else groups


def _laid_out(tokens: list[str], groups: Mapping[int, _Group], width: int) -> str:
    parts: list[str] = []
    broken: list[_Group | None] = []
    indent = column = 0

    def put(token: str, *, breaks: bool = False) -> None:
        nonlocal column
        parts.append(f"{token.rstrip()}\n{' ' * indent}" if breaks else token)
        column = indent if breaks else column + len(token)

    for place, token in enumerate(tokens):
        if token in _CLOSING:
            group = groups[place]
            breaks = column + group.size > width and indent < width // 2 and group.size > 2
            broken.append(group if breaks else None)
            indent += _STEP if breaks else 0
            put(token, breaks=breaks)
        elif token in _CLOSING.values():
            if broken.pop() is not None:
                indent -= _STEP
                put("", breaks=True)
            put(token)
        elif token.startswith(",") and broken and broken[-1] is not None:
            fills = broken[-1].plain and tokens[broken[-1].place] != "{"
            following = tokens[place + 1] if place + 1 < len(tokens) else ""
            put(token, breaks=not fills or column + len(following) + 3 > width)
        else:
            put(token)
    return "".join(parts)
