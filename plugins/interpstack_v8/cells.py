"""Prepares a cell's source for V8, whose scripts know no `await`."""

from __future__ import annotations

import re
from typing import Final

import attrs

from interpstack.guests.javascript import cells

__all__ = ["Script", "prepare"]

_AWAIT: Final = re.compile(r"\bawait\b")


@attrs.frozen
class Script:
    """A cell as V8 runs it.

    Attributes:
        source: A classic script.
        awaits: Its value is a promise of the cell's value, in a box.
    """

    source: str
    awaits: bool = False


def prepare(source: str, language: str | None = None) -> Script:
    """The script of a cell.

    Raises:
        TypeScriptError: It is no TypeScript, although `language` says so.
    """
    source = cells.prepare(source, language)
    if not _AWAIT.search(source):
        return Script(source)
    from interpstack.guests.javascript.awaiting import wrap_awaiting  # loads the parser

    wrapped = wrap_awaiting(source)
    return Script(source) if wrapped is None else Script(wrapped, awaits=True)
