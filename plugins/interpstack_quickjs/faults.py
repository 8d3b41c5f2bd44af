"""The position of a syntax error: the token at which QuickJS stopped parsing.

QuickJS reports the line, and the column of some earlier token. But QuickJS reads from left to right
and stops at the first error. So if the source is cut off before the faulty token and an error of
another kind is appended, QuickJS reports the appended one; if the piece includes the faulty token,
it does not. None of these pieces is ever run, since each contains an error.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from interpstack_core import EngineFailure
from interpstack_quickjs.guest import STATUS_JS_ERROR, Guest
from interpstack_quickjs.guest_memory import OutOfRoom

__all__ = ["find_fault", "find_module_fault"]

#: Faults to end a piece with, and their messages. A line break comes first: it ends a comment.
#: Whatever the piece leaves open, a text or a template, what follows does not close it for good.
_NO_NAME: Final = ("\n#(", "invalid first character of private name")
_OPEN_STRING: Final = ("\n'\"#(", "unexpected end of string")
#: Errors of unterminated literals, by their first characters. Pieces of a correct literal have
#: them, too.
_OPEN: Final = {
    "unexpected end of string": re.compile("['\"`]"),
    "unexpected end of comment": re.compile(r"/(?=\*)"),
    "unexpected end of regexp": re.compile("/"),
    "unexpected line terminator in regexp": re.compile("/"),
}
#: Not faults of one token.
_OTHER: Final = ("out of memory", "stack overflow", "Maximum call stack size exceeded")
#: Noticed behind the operator, but it is the operand before that that is at fault.
_TARGET: Final = "invalid assignment left-hand side"
#: What may be a token, or a part of a text or comment: words, operators, anything else.
_TOKEN: Final = re.compile(
    r"[\w$]+|=>|\.\.\.|\?\?=?|\?\.|>>>?=?|<<=?|\*\*=?|&&=?|\|\|=?|[=!]==?|\+\+|--|[-+*/%&|^<>]=|\S"
)
#: The line in the stack of an error.
_LINE: Final = re.compile(r":(\d{1,9}):\d+\s*\Z")
#: From within a token at least to its end.
_REST: Final = re.compile(r"[\w$]+|[-+*/%&|^<>=!?.]+")
#: Characters that are not halved any further.
_FEW: Final = 200
#: Openings that are tried; each takes a look.
_OPENINGS: Final = 40
#: Characters of an operand that are looked through.
_OPERAND: Final = 2000
#: Share of the CPU time left that the search may take, and seconds at most.
_SHARE: Final = 0.25
_SECONDS: Final = 0.5


def find_fault(guest: Guest, source: str, error: int) -> int | None:
    """The index of the token at which the guest's parser failed; `None` if unknown.

    Args:
        guest: The guest, whose clock runs: the search uses a part of its time.
        source: The source with the syntax error.
        error: Handle of the exception.
    """
    message = guest.text_of(error, "message")
    if message is None or message in _OTHER:
        return None
    named = _LINE.search(guest.text_of(error, "stack") or "")
    return _found(_Search(guest, source, message), named and int(named[1]))


def find_module_fault(guest: Guest, source: str, message: str, line: int) -> int | None:
    """The same for a module that the guest could not import.

    Args:
        guest: The guest, whose clock runs: the search uses a part of its time.
        source: JavaScript of the module.
        message: The error's message, as the guest says.
        line: The line that the guest names.
    """
    if message in _OTHER:
        return None
    return _found(_Search(guest, source, message, module=True), line)


def _found(search: _Search, line: int | None) -> int | None:
    try:
        offset = search.opening() if search.message in _OPEN else search.token(line)
    except (_NoTime, OutOfRoom):
        return None
    if offset is not None and search.message == _TARGET:
        return _operand(search.source, offset)
    return offset


class _NoTime(Exception):
    """The search would take too long."""


class _Search:
    def __init__(self, guest: Guest, source: str, message: str, *, module: bool = False) -> None:
        self._guest = guest
        self.source = source
        self.message = message
        self._module = module
        self._ending, self._clean = _OPEN_STRING if message == _NO_NAME[1] else _NO_NAME
        left = guest.left()
        self._least = None if left is None else left - min(left * _SHARE, _SECONDS)

    def token(self, line: int | None) -> int | None:
        """Search by halves for the first token with which the source fails as the whole does.

        Args:
            line: The line where the fault is likely to be.
        """
        good, bad = 0, len(self.source.rstrip())
        if self._said(bad) == self._clean:  # it fails at its end, or as a whole
            return bad if "''" in self.message or "end of" in self.message else None
        start, end = _line(self.source, line or 1)
        if end < bad and self._fails(end):
            bad = end
        if start < bad and not self._fails(start):
            good = start
        while bad - good > _FEW:
            middle = (good + bad) // 2
            rest = _REST.match(self.source, middle)
            end = middle if rest is None else rest.end()
            if end >= bad:
                break
            good, bad = (good, end) if self._fails(end) else (end, bad)
        tokens = [found.span() for found in _TOKEN.finditer(self.source, good, bad)]
        first, last = 0, len(tokens) - 1
        while first < last:
            at = (first + last) // 2
            first, last = (first, at) if self._fails(tokens[at][1]) else (at + 1, last)
        return tokens[first][0] if tokens else None

    def opening(self) -> int | None:
        """The last quote, slash or backquote that opens something, of which the end is missing."""
        found = [match.start() for match in _OPEN[self.message].finditer(self.source)]
        openings = islice(reversed(found), _OPENINGS)
        return next((at for at in openings if self._said(at) == self._clean), None)

    def _fails(self, end: int) -> bool:
        return self._said(end) == self.message

    def _said(self, end: int) -> str | None:
        """The error for the source up to `end`."""
        guest = self._guest
        left = guest.left()
        late = left is not None and self._least is not None and left < self._least
        if guest.poll_interrupt() or late:
            raise _NoTime
        piece = self.source[:end] + self._ending
        if self._module:
            status, handle = guest.evaluate_nameless(piece)
        else:
            status, handle = guest.evaluate(piece, "eval_async")
        if status != STATUS_JS_ERROR:
            raise EngineFailure("a piece of source that has a fault was run")
        message = guest.text_of(handle, "message")
        guest.free(handle)
        return message


def _line(source: str, number: int) -> tuple[int, int]:
    """Start and end of a line, or of the whole source if it has no such line."""
    start = 0
    for _ in range(number - 1):
        start = source.find("\n", start) + 1
        if not start:
            return 0, len(source)
    end = source.find("\n", start)
    return start, len(source) if end < 0 else end


def _operand(source: str, end: int) -> int:
    """The start of the operand to which the operator before `end` assigns."""
    start, depth = end, 0
    tokens = list(_TOKEN.finditer(source, max(0, end - _OPERAND), end))
    for token in reversed(tokens[:-1]):
        if token[0] in (")", "]", "}"):
            depth += 1
        elif token[0] in ("(", "[", "{"):
            depth -= 1
        elif depth == 0 and token[0] not in (".", "?.") and not re.match(r"[\w$'\"`#]", token[0]):
            break
        if depth < 0 or (depth == 0 and "\n" in source[token.end() : start]):
            break
        start = token.start()
    return start
