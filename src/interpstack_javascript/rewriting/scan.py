"""One pass over JavaScript source that finds the parts to rewrite.

The scan reads strings, templates, comments, regular expressions and brackets, and inspects a few
words between them. It takes time in proportion to the source, uses no recursion, and asks a caller
every few thousand tokens whether to continue. Text that the scan does not understand, or that nests
deeper than engines allow, is left for the engine to report.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import attrs

from interpstack_javascript.rewriting.brackets import (
    CODE,
    CONDITION,
    CURLY_BLOCK,
    CURLY_OBJECT,
    DO_BLOCK,
    DO_CONDITION,
    IN_TEMPLATE,
    ROUND,
    SQUARE,
    Bracket,
    DeclaredClass,
)
from interpstack_javascript.rewriting.lexis import (
    BINDING,
    BLOCK,
    BREAK,
    COLON,
    DO,
    EVENT,
    HEAD,
    KEYWORD,
    NAME,
    OPEN,
    OPEN_CURLY,
    OPERAND,
    OPERATOR,
    REGEX,
    SEMICOLON,
    SOFT,
    START,
    TEMPLATE,
    WHITE,
    before_label,
    behind_space,
    classify,
    first_code,
    is_part,
)

__all__ = ["Found", "scan"]

#: Open brackets at which a scan ends: engines take a few thousand.
_MAX_DEPTH: Final = 20_000
#: Tokens between two questions to the caller.
_PER_PAUSE: Final = 2048
#: Slashes that may turn out to begin no regular expression; each costs a look at its line.
_MAX_DOUBTS: Final = 10
#: What follows `import` in `import.meta`.
_META: Final = re.compile(r"\.\s*meta\b")
_DO: Final = re.compile(r"\bdo\b")
#: Kinds before a curly bracket that make it one of an object.
_BEFORE_OBJECT: Final = frozenset({OPERATOR, KEYWORD, OPEN, COLON})
#: Kinds after which a statement of the top level may begin on the same line.
_BEFORE_STATEMENT: Final = frozenset({START, SEMICOLON, BLOCK, DO})


@attrs.frozen
class Found:
    """The result of a scan; positions are indexes of characters.

    Attributes:
        keywords: Start and end of each `let` and `const` that declares at the top level.
        classes: Start, end and name of each class declared there.
        imports: Start and end of each import statement, and the calls that replace it.
        calls: The positions at which `import` is called like a function, or `import.meta` is read.
    """

    keywords: list[tuple[int, int]] = attrs.Factory(list)
    classes: list[tuple[int, int, str]] = attrs.Factory(list)
    imports: list[tuple[int, int, str]] = attrs.Factory(list)
    calls: list[int] = attrs.Factory(list)


def scan(source: str, pause: Callable[[], None], *, checked: bool = True) -> Found | None:
    """Find the parts to rewrite; `None` if the source is left to the engine unchanged.

    Args:
        source: JavaScript, or TypeScript of which only imports are looked at.
        pause: Called at intervals; an exception from it ends the scan.
        checked: Whether an import fails for names that its module lacks.
    """
    try:
        return _Scan(source, checked).run(pause)
    except _Unclear:
        return None


class _Unclear(Exception):
    """The source has an error, or nests too deep."""


class _Scan:
    """The state of one scan.

    Attributes:
        _end: End of the last token that was looked at.
        _last: Its kind, for the next token.
        _broke: Whether comments between it and `_end` have line breaks.
        _loops: Whether there may be `do` loops, of which a `while` is the end.
    """

    def __init__(self, source: str, checked: bool) -> None:
        self._source = source
        self._checked = checked
        self._found = Found()
        self._brackets: list[Bracket] = []
        self._classes: list[DeclaredClass] = []  # at the top level, their bodies yet to come
        self._end = 0
        self._last = START
        self._broke = False
        self._doubts = 0
        self._loops = _DO.search(source) is not None

    def run(self, pause: Callable[[], None]) -> Found:
        source, left = self._source, 0
        take: dict[str, Callable[[int, int], int | None]] = {
            "'": self._string,
            '"': self._string,
            "`": lambda start, end: self._template_text(end),
            "/": self._slash,
            "<": self._comment,
            "-": self._closing_arrow,
            "(": self._open_round,
            "[": lambda start, end: self._open(SQUARE, end, OPEN),
            "{": self._open_curly,
            **dict.fromkeys(")]}", self._close),
            "l": self._declaration,
            "c": self._declaration,
            "i": self._import,
            "\\": lambda start, end: None,
        }
        events = EVENT.finditer(source, first_code(source))
        while True:
            elsewhere = None
            for event in events:
                if not left:
                    pause()
                    left = _PER_PAUSE
                left -= 1
                start, end = event.span()
                elsewhere = take[source[start]](start, end)
                if elsewhere is not None:
                    break
            if elsewhere is None:
                break
            events = EVENT.finditer(source, elsewhere)
        if self._brackets:
            raise _Unclear
        return self._found

    # -- tokens: each returns where to go on, if that is not at its end --------------------------

    def _string(self, start: int, end: int) -> None:
        if end == start + 1:
            raise _Unclear
        self._after(end, OPERAND)

    def _template_text(self, at: int) -> int:
        text = TEMPLATE.match(self._source, at)
        if text is None:
            raise _Unclear
        if text[0][-1] == "`":
            self._after(text.end(), OPERAND)
        else:
            self._open(CODE, text.end(), OPEN)
        return text.end()

    def _slash(self, start: int, end: int) -> int | None:
        if end > start + 1:
            self._comment(start, end)
            return None
        if self._source.startswith("/*", start):
            raise _Unclear
        regex = None
        if self._before(start) != OPERAND:
            regex = REGEX.match(self._source, start)
            self._doubts += regex is None
            if self._doubts > _MAX_DOUBTS:
                raise _Unclear
        if regex is None:
            self._after(end, OPERATOR)
            return None
        self._after(regex.end(), OPERAND)
        return regex.end()

    def _comment(self, start: int, end: int) -> None:
        """Continue behind it as if it did not exist."""
        if start > self._end:
            self._last, self._broke = self._before(start), self._breaks(start)
        self._broke = self._broke or BREAK.search(self._source, start, end) is not None
        self._end = end

    def _closing_arrow(self, start: int, end: int) -> int | None:
        """`-->`, which begins a comment if only comments are before it on its line."""
        if self._before(start) != START and not self._breaks(start):
            self._after(end, OPERATOR)
            return None
        line = BREAK.search(self._source, end)
        end = len(self._source) if line is None else line.start()
        self._comment(start, end)
        return end

    def _open_round(self, start: int, end: int) -> None:
        bracket = ROUND
        if self._before(start) == HEAD:
            head = self._source[self._end : start].rstrip(WHITE)
            bracket = DO_CONDITION if self._loops and head.endswith("while") else CONDITION
        self._open(bracket, end, OPEN)

    def _open_curly(self, start: int, end: int) -> None:
        before = self._before(start)
        if before == OPERAND and self._classes and not self._brackets:
            declared = self._classes.pop()
            bracket: Bracket = ("}", BLOCK, declared) if declared[1] else CURLY_OBJECT
        elif before in _BEFORE_OBJECT:
            bracket = CURLY_BLOCK if before == COLON and self._is_labelled(start) else CURLY_OBJECT
        else:
            bracket = DO_BLOCK if before == DO else CURLY_BLOCK
        self._open(bracket, end, OPEN_CURLY)

    def _close(self, start: int, end: int) -> int | None:
        if not self._brackets:
            raise _Unclear
        closer, kind, action = self._brackets.pop()
        if self._source[start] != closer:
            raise _Unclear
        self._end, self._last, self._broke = end, kind, False
        if action is None:
            return None
        if action == IN_TEMPLATE:
            return self._template_text(end)
        if isinstance(action, int):
            self._end_call(action, end)
        else:
            self._found.classes.append((action[0], end, action[1]))
        return None

    # -- words -----------------------------------------------------------------------------------

    def _declaration(self, start: int, end: int) -> None:
        """`let`, `const` or `class`; only the keywords at the top level matter."""
        if self._brackets or is_part(self._source, start, self._end):
            return
        begins = self._begins_statement(start)
        if self._source.startswith("class", start):
            self._class(start, end, begins=begins)
            return
        if begins and (self._source[start] == "c" or BINDING.match(self._source, end)):
            self._found.keywords.append((start, end))
        self._after(end, OPERATOR)

    def _class(self, start: int, end: int, *, begins: bool) -> None:
        following = behind_space(self._source, end)
        name = NAME.match(self._source, following)
        if name or self._source.startswith("{", following):
            named = begins and name is not None and name[0] != "extends"
            self._classes.append((start, name[0] if named and name else ""))
        self._after(end, OPERAND)

    def _import(self, start: int, end: int) -> int | None:
        if is_part(self._source, start, self._end):
            return None
        following = behind_space(self._source, end)
        if self._source.startswith("(", following):
            self._open((")", OPERAND, start), following + 1, OPEN)
            return following + 1
        if _META.match(self._source, following):
            self._found.calls.append(start)
            return None
        if self._brackets:
            return None
        statement = None
        if self._begins_statement(start):
            # Its patterns take long to compile, and most code imports nothing.
            from interpstack_javascript.rewriting.imports import static_import

            statement = static_import(self._source, start)
        if statement is None:
            self._after(end, OPERATOR)
            return None
        call = statement.as_call(checked=self._checked)
        self._found.imports.append((start, statement.end, call))
        self._after(statement.end, SEMICOLON)
        return statement.end

    def _end_call(self, start: int, end: int) -> None:
        """Take a call of `import`, unless it is the head of a method of that name."""
        following = self._source[end : end + 64].lstrip(" \t")
        if not following.startswith("{"):
            self._found.calls.append(start)

    # -- where the scan is -----------------------------------------------------------------------

    def _after(self, end: int, kind: str) -> None:
        self._end, self._last, self._broke = end, kind, False

    def _open(self, bracket: Bracket, end: int, kind: str) -> None:
        self._brackets.append(bracket)
        if len(self._brackets) > _MAX_DEPTH:
            raise _Unclear
        self._end, self._last, self._broke = end, kind, False

    def _before(self, start: int) -> str:
        """The kind of the token before."""
        text = self._source[self._end : start].rstrip(WHITE)
        if not text:
            return self._last
        kind = classify(text)
        if kind == SOFT:
            return KEYWORD if self._brackets else OPERAND
        return kind

    def _breaks(self, start: int) -> bool:
        """Whether a line break is between the token before and this one."""
        gap = self._source[self._end : start]
        text = gap.rstrip(WHITE)
        white = gap[len(text) :]
        return "\n" in white or (not text and self._broke) or BREAK.search(white) is not None

    def _begins_statement(self, start: int) -> bool:
        """Whether a statement of the top level may begin; asked at the top level alone."""
        before = self._before(start)
        return before in _BEFORE_STATEMENT or (before == OPERAND and self._breaks(start))

    def _is_labelled(self, start: int) -> bool:
        """Whether a colon before a bracket is a label's; asked at the top level alone."""
        if self._brackets:
            return False
        kind, broke = before_label(self._source, start, self._end, self._last)
        return kind in _BEFORE_STATEMENT or (kind == OPERAND and broke)
