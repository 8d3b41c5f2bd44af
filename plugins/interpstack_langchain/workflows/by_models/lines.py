"""Texts of scripts, agents and people, as lines for a model: printable, and bounded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["as_json", "clipped", "fitted", "line"]

#: Characters of a line.
_LINE_CHARS: Final = 200


def line(value: Any, chars: int = _LINE_CHARS) -> str:
    """Return a value on one line, without control characters.

    Args:
        value: A text, or a JSON value.
        chars: Characters at most.
    """
    text = value if isinstance(value, str) else as_json(value)
    text = "".join(char if char.isprintable() else " " for char in text[: chars + 1])
    return clipped(text, chars)


def clipped(text: str, chars: int) -> str:
    """Return the beginning of a text, marked where it was cut."""
    return text if len(text) <= chars else text[: chars - 1] + "…"


def as_json(value: Any) -> str:
    """Return a value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def fitted(lines: Iterable[str], chars: int, more: str) -> list[str]:
    """Return the first lines that fit, and a last one that counts the rest.

    Args:
        lines: The lines.
        chars: Characters in all, line ends included.
        more: The last line, with `{count}`.
    """
    given, taken = list(lines), list[str]()
    for text in given:
        if len(text) + 1 > chars:
            break
        chars -= len(text) + 1
        taken.append(text)
    left = len(given) - len(taken)
    return [*taken, more.format(count=left)] if left else taken
