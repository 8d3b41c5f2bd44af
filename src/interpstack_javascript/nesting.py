"""The decision whether typed code is complete, or continues in the next line.

The parser decides: code continues if a fault is at its end. What is complete inside of an open
bracket is left out from then on, so that a line costs no more than the lines that it belongs to; a
source without these parts is never the last word.
"""

from __future__ import annotations

from typing import Final

from interpstack_javascript.parser.parsing import parse, text_of, units_of

__all__ = ["Nesting"]

_CLOSING: Final = {"{": "}", "(": ")", "[": "]", "`": "`", "/": "*/"}
_BRACKETS: Final = "{(["


class Nesting:
    """Follows JavaScript or TypeScript, line by line, from the first line of a chunk."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._new = ""
        #: The lines so far, without parts that are complete.
        self._head = ""
        #: What has to come before the code can be complete; empty for any text.
        self._awaited = ""
        self._closed = True

    @property
    def closed(self) -> bool:
        """Whether the lines so far need no further one, or have a fault that none mends."""
        if self._new and self._awaited in self._new:
            self._closed = self._closes(self._head + self._new)
            if self._closed and len(self._lines) > 1:
                self._closed = self._closes("".join(self._lines))
            self._new = ""
        return self._closed

    def feed(self, text: str) -> None:
        """Take whole lines, each with its newline."""
        self._lines.append(text)
        self._new += text

    def ends_before(self, line: str) -> bool:
        """Never: only a line of the chunk itself can end the chunk."""
        return False

    def _closes(self, text: str) -> bool:
        units = units_of(text)
        # A further line break: a text in quotes ends with its line, a template does not.
        fault = next((each for each in parse(f"{text}\n", name="a.ts").faults if each.at_end), None)
        if fault is None:
            return True
        opened = units[fault.start : fault.start + 1]
        self._awaited = _CLOSING.get(opened, "")
        inside = opened in _BRACKETS and opened and not units[: fault.start].endswith("$")
        self._head = text_of(units[: fault.start + 1]) + "\n" if inside else text
        return False
