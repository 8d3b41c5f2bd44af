"""Places of errors in a cell's source, for engines that report an offset."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from interpstack.contracts.protocol import Place

__all__ = ["place_at"]

#: Line breaks of any guest language.
_BREAK: Final = re.compile(r"\r\n|[\n\r\u2028\u2029]")
#: Characters that are shown of a line, before and after the place.
_BEFORE_CHARS: Final = 60
_AFTER_CHARS: Final = 40
_TAB: Final = "    "
#: Categories of characters that would move, hide or reorder the shown text.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def place_at(source: str, offset: int) -> Place:
    """The `Place` of a character in a cell's source.

    Args:
        source: The source of the cell, as the user wrote it.
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
    return Place(
        line,
        offset - start + 1,
        cut_before + _shown(before[-_BEFORE_CHARS:]),
        _shown(after[:_AFTER_CHARS]) + cut_after,
    )


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
