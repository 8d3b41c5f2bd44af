"""The decision whether typed JavaScript is complete, or continues in the next line."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Nesting"]

_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_TOKEN: Final = re.compile(
    r"(?P<skip>\s+|//[^\n]*)|(?P<comment>/\*)|(?P<quote>[\"'`])|(?P<open>[(\[{])"
    r"|(?P<close>[)\]}])|(?P<word>[\w$]+)|(?P<slash>/)|(?P<other>.)"
)
_REGEX: Final = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/\w*")
_TEMPLATE: Final = re.compile(r"(?:\\[\s\S]|\$(?!\{)|[^\\`$])*")
_STRINGS: Final = {q: re.compile(rf"(?:\\[\s\S]|[^\\\n{q}])*") for q in "\"'"}
#: Words after which a slash begins a regular expression.
_OPERATORS: Final = frozenset(
    {"await", "case", "delete", "do", "else", "in", "instanceof", "new", "of", "return"}
    | {"throw", "typeof", "void", "yield"}
)


class Nesting:
    """Follows brackets, strings, templates and comments, line by line.

    This module has no grammar: the engine reports all other errors.
    """

    def __init__(self) -> None:
        self._open: list[str] = []
        self._broken = False
        self._regex_may_follow = True

    @property
    def closed(self) -> bool:
        """Whether nothing is open, or a bracket does not match, which no further line mends."""
        return self._broken or not self._open

    def feed(self, text: str) -> None:
        """Take whole lines, each with its newline."""
        at = 0
        while at < len(text) and not self._broken:
            inside = self._open[-1] if self._open else ""
            if inside == "`":
                at = self._template(text, at)
            elif inside in _STRINGS:
                at = self._string(text, at, inside)
            elif inside == "/*":
                at = self._comment(text, at)
            else:
                at = self._code(text, at)

    def ends_before(self, line: str) -> bool:
        """Never: only a line of the chunk itself can end the chunk."""
        return False

    def _code(self, text: str, at: int) -> int:
        token = _TOKEN.match(text, at)
        if token is None:
            return at + 1
        kind, found = token.lastgroup, token.group()
        if kind == "skip":
            return token.end()
        if kind == "slash" and self._regex_may_follow and (regex := _REGEX.match(text, at)):
            self._regex_may_follow = False
            return regex.end()
        if kind == "close":
            self._close(found)
        elif kind in ("comment", "quote", "open"):
            self._open.append(found)
        if kind != "comment":
            operator = kind in ("open", "slash", "other") or found == "}" or found in _OPERATORS
            self._regex_may_follow = operator
        return token.end()

    def _close(self, bracket: str) -> None:
        opened = self._open.pop() if self._open else ""
        if opened != _PAIRS[bracket] and (opened, bracket) != ("${", "}"):
            self._broken = True

    def _template(self, text: str, at: int) -> int:
        found = _TEMPLATE.match(text, at)
        at = found.end() if found else at
        if text.startswith("${", at):
            self._open.append("${")
            self._regex_may_follow = True
            return at + 2
        if text.startswith("`", at):
            self._open.pop()
        return at + 1

    def _string(self, text: str, at: int, quote: str) -> int:
        found = _STRINGS[quote].match(text, at)
        at = found.end() if found else at
        if at < len(text):  # its end, or that of the line, which is an error and ends it too
            self._open.pop()
        return at + 1

    def _comment(self, text: str, at: int) -> int:
        end = text.find("*/", at)
        if end < 0:
            return len(text)
        self._open.pop()
        return end + 2
