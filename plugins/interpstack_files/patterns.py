"""Patterns of paths.

`*` and `?` match within one name, `[abc]` one character, `**` any number of folders, `{a,b}` one of
several. A pattern without `/` matches names at any depth. A name that begins with a dot matches
only where its part of the pattern does so, too. The rules are those of the file tools of
deepagents, so that code finds the same files in every source.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

__all__ = ["Pattern"]

#: Characters of a pattern.
_CHARS: Final = 1000
#: Patterns that braces stand for.
_BRACES: Final = 100
#: Parts of one pattern.
_PARTS: Final = 50

#: For each alternative, the parts of it that may come next.
State = frozenset[tuple[int, int]]


class Pattern:
    """A pattern, matched name by name from the folder in which the search begins.

    Args:
        text: The pattern.

    Raises:
        ValueError: The pattern is wrong.
    """

    def __init__(self, text: str) -> None:
        if not text.strip("/"):
            raise ValueError("a pattern is text such as '*.csv' or 'data/**/*.csv'")
        if len(text) > _CHARS:
            raise ValueError(f"a pattern has at most {_CHARS} characters")
        self.text = text
        self._alternatives = [_parts(one) for one in _expanded(text)]
        first = {(index, 0) for index in range(len(self._alternatives))}
        self.start: State = self._with_skipped(first)

    def after(self, state: State, name: str) -> State:
        """Return the state behind a name; empty if nothing below it can match."""
        found: set[tuple[int, int]] = set()
        for index, at in state:
            parts = self._alternatives[index]
            if at == len(parts):
                continue
            if parts[at] == "**":
                if not name.startswith("."):
                    found.add((index, at))
            elif parts[at] == _ANYWHERE:
                found.add((index, at))
            elif _matches(name, parts[at]):
                found.add((index, at + 1))
        return self._with_skipped(found)

    def ends(self, state: State) -> bool:
        """Return whether the path so far matches."""
        return any(at == len(self._alternatives[index]) for index, at in state)

    def _with_skipped(self, state: set[tuple[int, int]]) -> State:
        """Add the parts behind those that match no name, too."""
        found, waiting = set(state), list(state)
        while waiting:
            index, at = waiting.pop()
            parts = self._alternatives[index]
            if at < len(parts) and parts[at] in ("**", _ANYWHERE):
                following = (index, at + 1)
                if following not in found:
                    found.add(following)
                    waiting.append(following)
        return frozenset(found)


#: Stands for any folders, those whose names begin with a dot included.
_ANYWHERE: Final = "/"


def _parts(text: str) -> list[str]:
    anchored = "/" in text
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError("a pattern has no '..': pass the folder to search as the second argument")
    if len(parts) > _PARTS:
        raise ValueError(f"a pattern has at most {_PARTS} parts")
    if parts[-1] == "**":
        parts.append("*")
    return parts if anchored else [_ANYWHERE, *parts]


def _matches(name: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    return _matcher(part)(name) is not None


@lru_cache(maxsize=256)
def _matcher(part: str) -> Callable[[str], object]:
    return re.compile(fnmatch.translate(part)).match


def _expanded(text: str) -> list[str]:
    """The patterns that one with braces stands for."""
    done: list[str] = []
    waiting = [text]
    while waiting:
        one = waiting.pop()
        inner = _innermost(one)
        if inner is None:
            done.append(one)
        else:
            start, end = inner
            waiting += [
                f"{one[:start]}{way}{one[end + 1 :]}" for way in one[start + 1 : end].split(",")
            ]
        if len(done) + len(waiting) > _BRACES:
            raise ValueError(f"a pattern stands for at most {_BRACES} others; use fewer braces")
    return done


def _innermost(text: str) -> tuple[int, int] | None:
    """The places of a pair of braces with a comma between them, and no other brace."""
    start = -1
    for at, sign in enumerate(text):
        if sign == "{":
            start = at
        elif sign == "}" and start >= 0:
            if "," in text[start:at]:
                return start, at
            start = -1
    return None
