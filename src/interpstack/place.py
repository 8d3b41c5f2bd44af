"""Where a cell's source is at fault, and how the reader is shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

import attrs

__all__ = ["Place"]

#: Line breaks of any guest language.
_BREAK: Final = re.compile(r"\r\n|[\n\r\u2028\u2029]")
#: Characters that are shown of a line, before and after the place.
_BEFORE_CHARS: Final = 60
_AFTER_CHARS: Final = 40
_TAB: Final = "    "
#: Categories of characters that would move, hide or reorder what is shown.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


@attrs.frozen
class Place:
    """A character of a cell's source, with what is shown of its line.

    Attributes:
        line: Number of the line, from 1.
        column: Number of the character in its line, from 1.
        before: The line up to that character, as it is shown: control characters and others that
            cannot be seen are escapes, tabs are spaces, and a long line is cut.
        after: The rest of the line, likewise.
    """

    line: int
    column: int
    before: str
    after: str

    @classmethod
    def at(cls, source: str, offset: int) -> Place:
        """The place of a character.

        Args:
            source: Of the cell, as the user wrote it.
            offset: Index of the character; the length of the source for its end.
        """
        offset = min(max(offset, 0), len(source))
        line, start = 1, 0
        for found in _BREAK.finditer(source, 0, offset):
            line, start = line + 1, found.end()
        following = _BREAK.search(source, offset)
        end = len(source) if following is None else following.start()
        before, after = source[start:offset], source[offset:end]
        cut_before = "…" if len(before) > _BEFORE_CHARS else ""
        cut_after = "…" if len(after) > _AFTER_CHARS else ""
        return cls(
            line,
            offset - start + 1,
            cut_before + _shown(before[-_BEFORE_CHARS:]),
            _shown(after[:_AFTER_CHARS]) + cut_after,
        )

    def excerpt(self, escape: Callable[[str], str] = str) -> str:
        """The line with its number, and below it a caret.

        Args:
            escape: What is done to text before it is shown.
        """
        before, number = escape(self.before), str(self.line)
        caret = " " * (len(number) + 1) + "| " + " " * _width(before) + "^"
        return f"{number} | {before}{escape(self.after)}\n{caret}"


def _shown(text: str) -> str:
    return "".join(map(_seen, text))


def _seen(char: str) -> str:
    if char == "\t":
        return _TAB
    if unicodedata.category(char) not in _UNSEEN:
        return char
    code = ord(char)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\u{{{code:x}}}"
    )


def _width(text: str) -> int:
    """Columns that text takes on a terminal."""
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
