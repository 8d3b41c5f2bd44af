"""Untrusted texts, made safe to look at."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["brief", "visible"]

#: Categories of characters that are invisible, or change how others look.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Texts of these characters alone need no closer look.
_PLAIN: Final = re.compile(r"[\n\t -~]*")


def visible(text: str) -> str:
    """A text in which characters that change how others look are replaced by their numbers.

    These are control characters, marks of the direction of text, and lone surrogates.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(
        char
        if char in "\n\t" or unicodedata.category(char) not in _UNSEEN
        else f"\\u{ord(char):04x}"
        if ord(char) < 0x10000
        else f"\\u{{{ord(char):x}}}"
        for char in text
    )


def brief(text: str, chars: int) -> str:
    """The beginning of a text, with a mark if there is more of it."""
    return text if len(text) <= chars else f"{text[:chars]}…"
