"""The shapes of Python's lines, to recognize Python where another language is expected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["looks_like_python"]

#: Lines before and after the one at fault that count, and characters of each.
_AROUND: Final = 2
_CHARS: Final = 400
_NAME: Final = r"[^\W\d]\w{0,80}+"
_NAMES: Final = rf"{_NAME}(?: ?, ?{_NAME}){{0,8}}"
_MODULES: Final = (
    "asyncio|collections|csv|datetime|functools|itertools|json|math|numpy|os|pandas|random|re"
    "|requests|statistics|string|sys|time|typing"
)
#: What only Python has, in a line without its strings and comments.
_PLAIN: Final = re.compile(
    rf"^\s*+(?:async )?def {_NAME} ?\("
    rf"|^\s*+class {_NAME}(?:\([^()]*\))?:\s*$"
    rf"|^\s*+from [\w.]++ import [\w*(]"
    rf"|^\s*+import [\w.]++ as {_NAME}\s*$"
    rf"|^\s*+import (?:{_MODULES})(?:\.\w++)?(?:, ?{_NAME}){{0,8}}\s*$"
    r"|^\s*+(?:if|elif|while|with|async with)\b[^{?]*[^{?\s]:\s*$"
    rf"|^\s*+(?:async )?for {_NAMES} in [^{{]*:\s*$"
    rf"|^\s*+except(?: \(?{_NAME}[^{{]*)?:\s*$"
    r"|^\s*+(?:try|else|finally):\s*$"
    r"|^\s*+elif\b"
    rf"|[\w)\]}}\"'] for {_NAMES} in [^{{;]*[)\]}}]"
    rf"|(?<![\w$.])lambda(?: {_NAMES})?:"
    r"|^\s*+pass\s*$|^\s*+raise [A-Z]\w*+\("
    r"|=\s*+[^\s=?:;{}()]++ if [^?;{}]+ else [^?;{}]+$"
)
#: The prefix of a string, which another language may have by mistake.
_PREFIXED: Final = re.compile(r"(?<![\w$.])(?:[fF]|[rR][bBfF]?|[bBfF][rR])(?=[\"'])")
#: What Python has, and another language may have, too.
_WEAK: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*+print\(.*\)\s*$",
        r"(?<![\w$.])(?:True|False|None)(?![\w$])",
        r"\w (?:and|or|not in|is not|is) [\w(]|(?<![\w$.])not \w",
        r"(?<![\w$.])(?:len|range|str|sorted|enumerate|zip|isinstance)\(",
        r"^\s*+#(?: |$)",
        r"\"\"\"|'''",
    )
)
#: What shows another language.
_OTHER: Final = re.compile(
    r"^\s*+(?:const|let|var|function|export|case|default)\b|=>|===|!==|&&|\|\||\{\s*$|^\s*+\}|;\s*$"
    r"|^\s*+//|^\s*+/\*"
)
#: Strings, whose text says nothing, and comments.
_STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'")


def looks_like_python(lines: Sequence[str], row: int) -> bool:
    """Whether the line at fault, or one near it, is plainly Python.

    Args:
        lines: The lines of the source.
        row: Index of the line at fault.
    """
    line = _bare(lines[row])
    if _PLAIN.search(line):
        return True
    if _OTHER.search(line):
        return False
    if _PREFIXED.search(line):
        return True
    near = [_bare(one) for one in lines[max(0, row - _AROUND) : row + _AROUND + 1]]
    if any(_PLAIN.search(one) and not _OTHER.search(one) for one in near):
        return True
    return sum(any(map(weak.search, near)) for weak in _WEAK) > 1


def _bare(line: str) -> str:
    """A line with empty strings, up to a comment behind code."""
    bare = _STRING.sub(lambda found: found[0][0] * 2, line[:_CHARS])
    code, mark, _ = bare.partition(" #")
    return code if mark and code.strip() else bare
