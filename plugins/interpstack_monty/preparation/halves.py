"""Halves of surrogate pairs in a source: Monty would replace each of them without a word."""

from __future__ import annotations

import re
from typing import Final

import attrs

__all__ = ["HalfPair", "half_pair"]

_HALF: Final = re.compile("[\ud800-\udfff]")
_ESCAPE: Final = r"\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}"
_HAS_ESCAPE: Final = re.compile(_ESCAPE)
#: An escape in a text, or anything else that a backslash begins there.
_IN_TEXT: Final = re.compile(rf"({_ESCAPE})|\\[\s\S]")


def _quoted(quote: str) -> str:
    """A string with three quotes, or on one line; it may lack its end."""
    inner = r"(?:[^\\]|\\[\s\S])*?"
    short = rf"(?:[^\\\n{quote}]|\\[\s\S])*+{quote}?"
    return rf"{quote * 3}{inner}(?:{quote * 3}|\Z)|{quote}{short}"


_PART: Final = re.compile(
    rf"#[^\n\r]*|(?P<prefix>(?<!\w)[rRbBuUfFtT]{{1,2}})?"
    rf"(?P<text>{_quoted(chr(34))}|{_quoted(chr(39))})|(?P<outside>{_ESCAPE})"
)


@attrs.frozen
class HalfPair:
    """A place in a source.

    Attributes:
        at: The index of its first character.
        shown: Its text, as an escape.
    """

    at: int
    shown: str


def half_pair(source: str) -> HalfPair | None:
    """The first half of a surrogate pair in a source, as a character or as an escape in a text.

    An escape of a raw string, of bytes or of a comment is none. A text inside a field of an
    f-string is read as if it stood alone, so that an escape in it is found, too.

    Args:
        source: Python.
    """
    if not source.isascii() and (half := _HALF.search(source)):
        return HalfPair(half.start(), ascii(half[0])[1:-1])
    if not _HAS_ESCAPE.search(source):
        return None
    for part in _PART.finditer(source):
        if part["outside"]:
            return HalfPair(part.start(), part["outside"])
        if part["text"] is None or {*(part["prefix"] or "")} & {*"rRbB"}:
            continue
        for escape in _IN_TEXT.finditer(source, part.start("text"), part.end("text")):
            if escape[1]:
                return HalfPair(escape.start(), escape[1])
    return None
