"""The lexis of JavaScript for the scan: tokens, and the tokens that may follow them.

Each pattern takes time in proportion to its text: none of them can match a character in two ways,
and possessive quantifiers prevent backtracking. The patterns begin with one of few characters,
because `re` skips other text fastest then.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = [
    "ARROW",
    "BINDING",
    "BLOCK",
    "BREAK",
    "COLON",
    "CONTROL",
    "DO",
    "EVENT",
    "HEAD",
    "KEYWORD",
    "NAME",
    "OPEN",
    "OPEN_CURLY",
    "OPERAND",
    "OPERATOR",
    "REGEX",
    "SEMICOLON",
    "SOFT",
    "SPACE",
    "START",
    "STRING",
    "TEMPLATE",
    "WHITE",
    "before_label",
    "behind_space",
    "classify",
    "first_code",
    "is_part",
]

# -- kinds of context before a token -----------------------------------------------------------

START: Final = "start of the source"
SEMICOLON: Final = "end of a statement"
OPERATOR: Final = "operator"
ARROW: Final = "arrow of a function"
COLON: Final = "colon"
OPERAND: Final = "end of an operand"
KEYWORD: Final = "keyword that an expression follows"
SOFT: Final = "keyword inside brackets, and a name outside"
HEAD: Final = "keyword that a condition follows"
DO: Final = "keyword or body of a do loop"
CONTROL: Final = "keyword or condition that a statement follows"
BLOCK: Final = "end of a block"
OPEN: Final = "opening bracket"
OPEN_CURLY: Final = "opening curly bracket"

_KINDS: Final = {
    "await": KEYWORD,
    "case": KEYWORD,
    "default": KEYWORD,
    "delete": KEYWORD,
    "export": KEYWORD,
    "extends": KEYWORD,
    "in": KEYWORD,
    "instanceof": KEYWORD,
    "new": KEYWORD,
    "of": SOFT,
    "return": KEYWORD,
    "throw": KEYWORD,
    "typeof": KEYWORD,
    "void": KEYWORD,
    "yield": SOFT,
    "catch": HEAD,
    "for": HEAD,
    "if": HEAD,
    "switch": HEAD,
    "while": HEAD,
    "with": HEAD,
    "do": DO,
    "else": CONTROL,
    "finally": CONTROL,
    "try": CONTROL,
}

#: Characters that tell the kind alone. A curly bracket is that of an escape in a name.
_ENDS: Final = {
    ";": SEMICOLON,
    ":": COLON,
    "}": OPERAND,
    **dict.fromkeys("!%&*,/<=?^|~", OPERATOR),
}

# -- tokens ------------------------------------------------------------------------------------

#: Characters between tokens, for `str.rstrip`.
WHITE: Final = " \t\n\r\v\f\u00a0\ufeff\u2028\u2029"
BREAK: Final = re.compile(r"[\n\r\u2028\u2029]")
#: `<!--` begins a comment, too; `-->` does where nothing but comments is before it on its line.
_COMMENT: Final = r"(?://|<!--)[^\n\r\u2028\u2029]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/"


def _quoted(quote: str) -> str:
    """A string literal: text, escapes, and line continuations."""
    text = rf"[^{quote}\\\n\r]*+"
    escapes = rf"(?:\\[^\r]{text})*+"
    return rf"{quote}{text}{escapes}(?:\\\r\n?+{text}{escapes})*+{quote}"


_STRINGS: Final = f"{_quoted(chr(34))}|{_quoted(chr(39))}"
STRING: Final = re.compile(_STRINGS)
_WORDS: Final = "|".join(rf"{word}(?![\w$\\])" for word in ("let", "const", "class", "import"))
#: What changes the state of a scan; a quote or slash alone begins something that has no end.
EVENT: Final = re.compile(
    "|".join((_STRINGS, _COMMENT, r"[()\[\]{}`/'\"]|-->", _WORDS, r"\\u\{[\da-fA-F]*+\}"))
)
_TEXT: Final = r"[^`\\$]*+(?:\\[\s\S][^`\\$]*+)*+"
#: The rest of a template up to its end, or up to the code in it.
TEMPLATE: Final = re.compile(rf"{_TEXT}(?:\$(?!\{{){_TEXT})*+(?:`|\$\{{)")
_PLAIN: Final = r"[^/\\\[\n\r\u2028\u2029]*+(?:\\[^\n\r][^/\\\[\n\r\u2028\u2029]*+)*+"
_LISTED: Final = r"[^\]\\\n\r\u2028\u2029]*+(?:\\[^\n\r][^\]\\\n\r\u2028\u2029]*+)*+"
REGEX: Final = re.compile(rf"/(?![*/]){_PLAIN}(?:\[{_LISTED}\]{_PLAIN})*+/[\w$]*+")
#: White space and comments, or nothing.
SPACE: Final = re.compile(rf"[{WHITE}]*+(?:(?:{_COMMENT})[{WHITE}]*+)*+")
_LABEL: Final = re.compile(rf"[\w$]++[{WHITE}]*+:\Z")
NAME: Final = re.compile(r"(?!\d)(?:[\w$\u200c\u200d]|\\u[{\da-fA-F}]+)+")
#: What a `let` declares; it is a name itself before an operator.
BINDING: Final = re.compile(
    rf"{SPACE.pattern}(?:[\[{{]|(?!(?:in|instanceof)(?![\w$\u200c\u200d\\])){NAME.pattern})"
)
#: Characters before a token in which a name or a dot is looked for.
_NEAR: Final = 80
_INTEGER: Final = re.compile(r"(?<![\w$])\d[\d_]*+\.\Z")
#: A word at the end, longer than any keyword if it is none; the dot before it.
_LAST_WORD: Final = re.compile(r"(\.{0,3})([\w$]+)\Z")
_LONGEST: Final = 10 + 4


def classify(text: str) -> str:
    """The kind of the last token.

    Args:
        text: Source without strings, brackets and comments, with no white space at its end.
    """
    return _classify(text[-_LONGEST:])


@lru_cache(1024)
def _classify(text: str) -> str:
    """The same for the end of the text; sources repeat few of them."""
    if text.isalnum():
        return _KINDS.get(text, OPERAND)
    last = text[-1]
    if last in _ENDS:
        return _ENDS[last]
    if last.isalnum() or last in "_$" or last > "\x7f":
        word = _LAST_WORD.search(text)
        if word is None or word[1] in (".", ".."):
            return OPERAND
        return _KINDS.get(word[2], OPERAND)
    if text.endswith(("++", "--")) or (last == "." and text[-2:-1].isdigit()):
        return OPERAND
    return ARROW if text.endswith("=>") else OPERATOR


def is_part(source: str, start: int, since: int) -> bool:
    """Whether a word is the end of a longer one, or the name of a property.

    Args:
        source: JavaScript.
        start: The start of the word.
        since: The start of a stretch that holds nothing but code.
    """
    near = source[max(since, start - _NEAR) : start]
    code = near.rstrip(WHITE)
    if not code:
        return False
    last = code[-1]
    if len(code) == len(near) and (last.isalnum() or last in "_$#"):
        return True
    return last == "." and not code.endswith("...") and _INTEGER.search(code) is None


def first_code(source: str) -> int:
    """The start of the code, after a hashbang line."""
    if not source.startswith("#!"):
        return 0
    line = BREAK.search(source)
    return len(source) if line is None else line.start()


def behind_space(source: str, at: int) -> int:
    """The start of the next token."""
    space = SPACE.match(source, at)
    return at if space is None else space.end()


def before_label(source: str, start: int, since: int, last: str) -> tuple[str, bool]:
    """The kind of the token before a name and a colon, and whether a line break is between.

    Args:
        source: JavaScript.
        start: Behind the colon and white space.
        since: The start of a stretch that holds nothing but code.
        last: The kind of the token before that.
    """
    text = source[max(since, start - _NEAR) : start].rstrip(WHITE)
    label = _LABEL.search(text)
    if label is None:
        return COLON, False
    if not label.start():
        return last, False
    before = text[: label.start()].rstrip(WHITE)
    broke = BREAK.search(text, len(before), label.start()) is not None
    return classify(before) if before else last, broke
