"""One pass over Python source that finds its last statement, and what Monty would run wrongly.

The scan takes time in proportion to the source, uses no recursion, and asks its caller every few
thousand tokens whether to continue. Text that the scan does not understand is left for Monty to
report.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

__all__ = ["ScanResult", "scan"]

#: Open brackets at which a scan ends: Monty takes a few hundred.
_MAX_DEPTH: Final = 20_000
#: Tokens between two questions to the caller.
_PER_PAUSE: Final = 2048
_TAB: Final = 8
#: Where columns are counted from.
_BREAKS: Final = "\n\r\f"


def _quoted(quote: str) -> str:
    """A string on one line, or with three quotes; a quote alone begins one without an end."""
    long = rf"{quote * 3}[^{quote}\\]*+(?:(?:\\[\s\S]|{quote}(?!{quote * 2}))[^{quote}\\]*+)*+"
    short = rf"{quote}[^{quote}\\\n\r]*+(?:\\(?:\r\n|[\s\S])[^{quote}\\\n\r]*+)*+{quote}"
    return rf"{long}{quote * 3}|(?!{quote * 3}){short}|{quote}"


_STRING: Final = re.compile(f"{_quoted(chr(34))}|{_quoted(chr(39))}")
_JOINT: Final = r"(?:\\(?:\r\n|[\n\r]))++"
_JOINTS: Final = re.compile(_JOINT)
#: What may stand before the first token of a statement.
_LEAD: Final = re.compile(rf"(?:[ \t\f]|{_JOINT})*+")
#: What changes the state of a scan. Line breaks come with the white space and comments behind them.
_EVENT: Final = re.compile(
    rf"[\"'()\[\]{{}}]|#[^\n\r]*+|[\n\r]\s*+(?:#[^\n\r]*+[\n\r]\s*+)*+|{_JOINT}|;"
    r"|==|!=|>>=|<<=|<=|>=|:=|[:=]"
    r"|return(?!\w)|lambda(?!\w)|for(?!\w)"
)
_LEADS: Final = " \t\f\\"
_FUNCTION: Final = re.compile(rf"(?:async(?:[ \t\f]|{_JOINT})++)?def(?!\w)|class(?!\w)")
#: Methods that Monty takes and never calls, so that code would go on with a wrong answer, or fail
#: with an error that denies them.
_IGNORED: Final = re.compile(
    rf"(?:async(?:[ \t\f]|{_JOINT})++)?def(?:[ \t\f]|{_JOINT})++"
    r"(__(?:bool|len|ne|lt|le|gt|ge|format|new|del|setattr|getattr|getattribute|get|set|set_name"
    r"|reversed|bytes|complex|await|class_getitem"
    r"|i(?:add|sub|mul|matmul|truediv|floordiv|mod|pow|and|or|xor|lshift|rshift))__)(?!\w)"
)
_WORD: Final = re.compile(r"\w+|@")
#: How lines begin of which no part is a statement of the top level.
_COMPOUND: Final = frozenset(
    {"@", "async", "class", "def", "elif", "else", "except", "finally"}
    | {"for", "if", "try", "while", "with"}
)
#: How statements begin that have no value.
_NO_VALUES: Final = frozenset(
    {"assert", "break", "continue", "del", "from", "global", "import"}
    | {"nonlocal", "pass", "raise", "return", "yield"}
)
#: The targets of an assignment to names: all of them, or one with its annotation or operator.
_ASSIGNED: Final = re.compile(
    r"([^\W\d]\w*+(?:[ \t]*+,[ \t]*+[^\W\d]\w*+)*+)[ \t]*+"
    r"(?::[^=\n\r\"'#(){}]++)?(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)[ \t]*+"
)
_LAMBDA: Final = re.compile(r"\(*+lambda(?!\w)")
#: Names of words that only look like a target, and those that no code may read.
_WORDS: Final = re.compile(r"\b(?:match|case|type|else|try|finally)\b")
_PREFIXES: Final = "rRbBuUfFtT"
_PREFIX: Final = re.compile(rf"(?:\A|[^\w])([{_PREFIXES}]{{1,2}})\Z")
_WITH_FIELDS: Final = frozenset("fFtT")

#: How a text with fields goes on behind one: its quotes, and whether this is a field's format.
_Text: TypeAlias = tuple[str, bool]
#: What closes a bracket, and the text that goes on then.
_Bracket: TypeAlias = tuple[str, _Text | None]


@attrs.frozen
class ScanResult:
    """The result of a scan; positions are indexes of characters.

    Attributes:
        value: Start and end of the expression that the source ends with, if it does.
        assigned: The names that its last statement assigns to, as code; empty if there is none.
        returns: The position of the first `return` outside a function, if there is one.
        ignored: Name and position of the first method that Monty would not call, if there is one.
    """

    value: tuple[int, int] | None
    returns: int | None
    ignored: tuple[str, int] | None = None
    assigned: str = ""


def scan(source: str, pause: Callable[[], None]) -> ScanResult | None:
    """Find the last expression; `None` if Python cannot make sense of the source.

    Args:
        source: Python.
        pause: Called at intervals; an exception from it ends the scan.
    """
    try:
        return _Scan(source).run(pause)
    except _Unclear:
        return None


class _Unclear(Exception):
    """The source has an error, or nests too deep."""


class _Scan:
    """The state of one scan.

    Attributes:
        _line: Start of the logical line.
        _start: Start of the statement in it.
        _plain: Whether the statement can still be an expression.
        _value: The last statement, if it is an expression of the top level.
        _other: Where the last statement begins, if it is another one of the top level.
        _functions: Columns of the heads of functions and classes around the line.
        _classes: Which of these columns are of classes.
        _begins: Where the statement's first token may be, if that was not seen; else -1.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._brackets: list[_Bracket] = []
        self._functions: list[int] = []
        self._classes = set[int]()
        self._column = self._line = self._start = self._begins = 0
        self._plain = True
        self._lambdas = 0
        self._value: tuple[int, int] | None = None
        self._other: int | None = None
        self._returns: int | None = None
        self._ignored: tuple[str, int] | None = None

    def run(self, pause: Callable[[], None]) -> ScanResult:
        source, left = self._source, 0
        take: dict[str, Callable[[int, int], int | None]] = {
            **dict.fromkeys("'\"", self._string),
            **dict.fromkeys("([{", self._open),
            **dict.fromkeys(")]}", self._close),
            **dict.fromkeys("\n\r", self._break),
            **dict.fromkeys("=!<>", self._equals),
            **dict.fromkeys("rlf", self._word),
            "#": self._comment,
            "\\": self._joint,
            ";": self._semicolon,
            ":": self._colon,
        }
        self._break(0, len(source) - len(source.lstrip(" \t\f\r\n\ufeff")))
        events = _EVENT.finditer(source, self._start)
        while True:
            elsewhere = None
            for event in events:
                if not left:
                    pause()
                    left = _PER_PAUSE
                left -= 1
                start = event.start()
                elsewhere = take[source[start]](start, event.end())
                if elsewhere is not None:
                    break
            if elsewhere is None:
                break
            events = _EVENT.finditer(source, elsewhere)
        if self._brackets:
            raise _Unclear
        self._end_statement(len(source))
        return ScanResult(self._value, self._returns, self._ignored, self._assigned())

    def _assigned(self) -> str:
        """The names that the last statement assigns to; empty for a function without a name."""
        if self._other is None:
            return ""
        found = _ASSIGNED.match(self._source, self._other)
        if found is None or _WORDS.search(found[1]) or _LAMBDA.match(self._source, found.end()):
            return ""
        return f"({found[1]})" if "," in found[1] else found[1]

    # -- tokens: each returns where to go on, if that is not at its end --------------------------

    def _string(self, start: int, end: int) -> int:
        if self._has_fields(start):
            quote = self._source[start]
            long = self._source.startswith(quote * 3, start)
            return self._text(start + (3 if long else 1), (quote * 3 if long else quote, False))
        string = _STRING.match(self._source, start)
        if string is None or string.end() == start + 1:
            raise _Unclear
        return string.end()

    def _has_fields(self, start: int) -> bool:
        """Whether the prefix of a string makes it one with fields."""
        if not start or self._source[start - 1] not in _PREFIXES:
            return False
        prefix = _PREFIX.search(self._source, max(0, start - 3), start)
        return prefix is not None and not _WITH_FIELDS.isdisjoint(prefix[1])

    def _text(self, at: int, text: _Text) -> int:
        """Scan the rest of an f-string, up to its end or to the beginning of its next field."""
        while True:
            quotes, in_format = text
            part = _TEXTS[text].match(self._source, at)
            end = at if part is None else part.end()
            if self._source.startswith("{", end):
                self._push(("}", text))
                return end + 1
            if not in_format:
                if self._source.startswith(quotes, end):
                    return end + len(quotes)
                raise _Unclear
            closer, outer = self._brackets.pop()
            if outer is None or not self._source.startswith(closer, end):
                raise _Unclear
            at, text = end + 1, outer

    def _open(self, start: int, end: int) -> None:
        self._push((_CLOSERS[self._source[start]], None))

    def _push(self, bracket: _Bracket) -> None:
        self._brackets.append(bracket)
        if len(self._brackets) > _MAX_DEPTH:
            raise _Unclear

    def _close(self, start: int, end: int) -> int | None:
        if not self._brackets:
            raise _Unclear
        closer, text = self._brackets.pop()
        if self._source[start] != closer:
            raise _Unclear
        return None if text is None else self._text(end, text)

    def _break(self, start: int, end: int) -> None:
        if self._brackets:
            return
        if self._start < start:
            self._end_statement(start)
        self._start = self._line = self._begins = end
        source = self._source
        if end == len(source):
            return
        indent, first = self._indent(start, end), end
        if source[end] == "\\":
            first = _behind_lead(source, end)
            # Of lines that are joined, the first one that has white space indents.
            indent = indent or next(filter(None, _JOINTS.split(source[end:first])), "")
            self._line = self._begins = first
        self._column = len(indent.expandtabs(_TAB)) if indent else 0
        if source.startswith("#", first):  # no statement, wherever it stands
            return
        functions = self._functions
        while functions and functions[-1] >= self._column:
            self._classes.discard(functions.pop())
        if _FUNCTION.match(source, first):
            if functions and functions[-1] in self._classes and self._ignored is None:
                method = _IGNORED.match(source, first)
                self._ignored = (method[1], first) if method else None
            functions.append(self._column)
            if source.startswith("class", first):
                self._classes.add(self._column)

    def _indent(self, start: int, end: int) -> str:
        """The white space between the last line break and `end`."""
        if self._source[end - 1 : end] in _BREAKS:
            return ""
        space = self._source[start:end]
        return space[max(map(space.rfind, _BREAKS)) + 1 :].lstrip("\ufeff")

    def _comment(self, start: int, end: int) -> None:
        if not self._brackets:
            self._end_statement(start)
            self._start = self._begins = end

    def _joint(self, start: int, end: int) -> None:
        if self._is_first(start):
            self._begins = end

    def _semicolon(self, start: int, end: int) -> None:
        if not self._brackets:
            self._end_statement(start)
            self._start = self._begins = end

    def _colon(self, start: int, end: int) -> int | None:
        if not self._brackets:
            if self._lambdas:
                self._lambdas -= 1
            else:
                self._plain, self._begins = False, end
        elif self._brackets[-1][1] is not None:
            return self._text(start + 1, (self._brackets[-1][1][0], True))
        return None

    def _equals(self, start: int, end: int) -> None:
        assigns = self._source[start:end] in ("=", ">>=", "<<=")
        if assigns and not self._brackets and not self._lambdas:
            self._plain = False

    def _word(self, start: int, end: int) -> None:
        before = self._source[start - 1 : start] if start else ""
        if self._brackets or before.isalnum() or before in ("_", "."):
            return
        first = self._source[start]
        if first == "l":
            self._lambdas += 1
        elif first == "f":
            self._plain = False
        elif self._is_first(start) and not self._functions and self._returns is None:
            self._returns = start

    def _is_first(self, start: int) -> bool:
        """Whether a token is the first of its statement; asked once for each."""
        begins, self._begins = self._begins, -1
        return begins >= 0 and not self._source[begins:start].strip(" \t\f")

    def _end_statement(self, end: int) -> None:
        plain, self._plain, self._lambdas = self._plain, True, 0
        text = self._source[self._start : end].rstrip(" \t\f")
        start = _behind_lead(text, 0) if text[:1] in _LEADS else 0
        if start == len(text):
            return
        self._value = self._other = None
        if self._column:
            return
        head = _WORD.match(text, start)
        if head is not None and head[0] in _NO_VALUES:
            return
        line = _WORD.match(self._source, self._line)
        if line is None or line[0] not in _COMPOUND:
            if plain:
                self._value = (self._start + start, self._start + len(text))
            else:
                self._other = self._start + start


def _behind_lead(source: str, at: int) -> int:
    lead = _LEAD.match(source, at)
    return at if lead is None else lead.end()


_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}


def _text_of(quotes: str, in_format: bool) -> re.Pattern[str]:
    """The text of an f-string up to the next field or to its end."""
    if in_format:
        return re.compile(r"[^{}]*+" if len(quotes) == 3 else r"[^{}\n\r]*+")
    quote = quotes[0]
    lines = "" if len(quotes) == 3 else r"\n\r"
    inner = rf"|{quote}(?!{quote * 2})" if len(quotes) == 3 else ""
    escape = r"\\(?:N\{[^{}]*+\}|\r\n|[^{}]|(?=[{}]))"
    plain = rf"[^{quote}\\{{}}{lines}]*+"
    return re.compile(rf"{plain}(?:(?:{escape}|\{{\{{|\}}\}}{inner}){plain})*+")


_TEXTS: Final = {
    (quotes, in_format): _text_of(quotes, in_format)
    for quotes in ("'", '"', "'''", '"""')
    for in_format in (False, True)
}
