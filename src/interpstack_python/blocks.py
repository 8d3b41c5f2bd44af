"""The decision whether typed Python is complete, or continues in the next line."""

from __future__ import annotations

import io
import re
from typing import Final

__all__ = ["Blocks"]

_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_TOKEN: Final = re.compile(
    r"(?P<skip>\s+|#[^\n]*)|(?P<joined>\\\r?\n?\Z)|(?P<quote>\"\"\"|'''|\"|')|(?P<open>[(\[{])"
    r"|(?P<close>[)\]}])|(?P<word>\w+)|(?P<other>.)"
)
_STRINGS: Final = {
    **{q: re.compile(rf"(?:\\[\s\S]|[^\\\n{q}])*") for q in "\"'"},
    **{q * 3: re.compile(rf"(?:\\[\s\S]|(?!{q * 3})[^\\])*") for q in "\"'"},
}
_FIRST: Final = re.compile(r"@|\w*")
#: Words that begin a statement with a block; of them, `match` may also be a name.
_COMPOUND: Final = frozenset(
    {"@", "async", "class", "def", "for", "if", "try", "while", "with"},
)
#: Words that go on with such a statement at its own indentation.
_CONTINUING: Final = frozenset({"elif", "else", "except", "finally"})


class Blocks:
    """Follows brackets, strings, joined lines and blocks, line by line.

    A block ends with a blank line, as in Python's own prompt. Nothing is compiled: the engine's
    Python may be newer than the Python of this process, and the engine reports other errors.
    """

    def __init__(self) -> None:
        self._open: list[str] = []
        self._broken = False
        self._within = False  # the next line belongs to the same statement
        self._block = False  # further lines may belong to the block
        self._blank = False  # the last line was blank
        self._headed = False  # the last line was a decorator, or ended with a colon
        self._first = ""  # the first token of a statement, and its last one so far
        self._last = ""

    @property
    def closed(self) -> bool:
        """Whether no block and nothing else is open, or a bracket does not match."""
        return self._broken or (not self._within and (self._blank or not self._block))

    def feed(self, text: str) -> None:
        """Take whole lines, each with its newline."""
        for line in io.StringIO(text):
            if self._within or self._begins(line):
                self._read(line)

    def ends_before(self, line: str) -> bool:
        """Whether this line is outside of the block and does not continue its statement."""
        if not self._block or self._within or self._headed:
            return False
        if line[:1].isspace() or line[:1] in ("", "#"):
            return False
        return _first(line) not in _CONTINUING

    def _begins(self, line: str) -> bool:
        """Whether a statement begins in this line, rather than nothing."""
        code = line.strip()
        if not code or code.startswith("#"):
            # A blank line between the head and the body of a block ends nothing.
            self._blank = self._blank or not (code or self._headed)
            return False
        self._blank = False
        self._first = _first(code)
        if not line[0].isspace():
            goes_on = self._block and self._first in _CONTINUING
            self._block = goes_on or self._first in _COMPOUND
        return True

    def _read(self, line: str) -> None:
        at, joined = 0, False
        while at < len(line) and not self._broken:
            if self._open and self._open[-1] in _STRINGS:
                at = self._string(line, at, self._open[-1])
                continue
            token = _TOKEN.match(line, at)
            if token is None:
                break
            self._take(token)
            at, joined = token.end(), token.lastgroup == "joined"
        self._within = joined or bool(self._open)
        self._headed = not self._within and (self._last == ":" or self._first == "@")
        self._block = self._block or (self._headed and self._first not in _CONTINUING)

    def _take(self, token: re.Match[str]) -> None:
        kind, found = token.lastgroup, token.group()
        if kind == "skip":
            return
        self._last = found
        if kind in ("quote", "open"):
            self._open.append(found)
        elif kind == "close":
            opened = self._open.pop() if self._open else ""
            self._broken = opened != _PAIRS[found]

    def _string(self, line: str, at: int, quote: str) -> int:
        found = _STRINGS[quote].match(line, at)
        at = found.end() if found else at
        if line.startswith(quote, at):
            self._open.pop()
            return at + len(quote)
        if len(quote) == 1 and at < len(line):  # an error, which ends it too
            self._open.pop()
        return at if len(quote) == 1 else len(line)


def _first(line: str) -> str:
    found = _FIRST.match(line)
    return found.group() if found else ""
