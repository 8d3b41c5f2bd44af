"""The shapes of JavaScript's lines, to recognize JavaScript where another language is expected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["looks_like_javascript"]

#: Lines before and after the one at fault that count, and characters of each.
_AROUND: Final = 2
_CHARS: Final = 400
#: What only JavaScript has, in a line without the text of its strings.
_PLAIN: Final = re.compile(
    r"^\s*+(?:export )?(?:const|let|var) +[\w$\[{]"
    r"|^\s*+(?:export )?(?:async )?function\b ?\*? ?[\w$]*+ ?\("
    r"|[(,=:] *+(?:async )?function\b ?\*? ?[\w$]*+ ?\("
    r"|\) *+=> *+\S|[(,=:] *+(?:async +)?[\w$]++ *+=> *+[^\s:]|=> *+[{(]"
    r"|===|!==|(?<![\w$.])console\.\w++\(|^\s*+//|^\s*+/\*|`"
    r"|^\s*+(?:\} *+)?(?:else +)?(?:if|for|while|switch|catch) *+\(.*\) *+\{"
    r"|^\s*+(?:\} *+)?(?:else|try|finally|do) *+\{"
    r"|(?<![\w$.])new +[A-Z][\w$.]*+\(|(?<![\w$.])typeof +[\w$(]"
    r"|^\s*+import\b.{0,200}\bfrom *+[\"']|^\s*+throw +(?:new\b|\w)"
    r"|[\w$\])] *+(?:&&|\|\|) *+[\w$(!\[\"']|(?<![\w$])![\w$(]"
)
#: Strings, whose text says nothing; one without an end goes on to the end of its line.
_STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+(?:\"|$)|'(?:[^'\\]|\\.)*+(?:'|$)")


def looks_like_javascript(lines: Sequence[str], row: int) -> bool:
    """Whether the line at fault, or one near it, is plainly JavaScript.

    Args:
        lines: The lines of the source.
        row: Index of the line at fault.
    """
    near = [row, *range(max(0, row - _AROUND), min(len(lines), row + _AROUND + 1))]
    return any(_PLAIN.search(_bare(lines[at])) for at in near)


def _bare(line: str) -> str:
    """A line without the text of its strings, and without a comment of Python behind code."""
    bare = _STRING.sub(lambda found: found[0][0] * 2, line[:_CHARS])
    return "" if bare.lstrip().startswith("#") else bare.partition(" #")[0]
