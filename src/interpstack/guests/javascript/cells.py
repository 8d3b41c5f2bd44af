"""Prepares a cell's source: what must change so that a script behaves like a REPL's.

Engines keep top-level `let`, `const` and `class` across scripts but refuses to declare them
again. So the keywords at the top level become `var` in place: same lines, same columns but for
classes. Imports become calls of the kernel, which asks the host for the module first. A
maintained parser finds them; what it cannot parse is left for the engine to report.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["TypeScriptError", "escape", "prepare", "strip_types"]

#: Nothing to do for cells without one of these words; behind a bracket no declaration begins.
_WORDS: Final = re.compile(r"(?<!\()\b(?:let|const|class)\b|\bimport\b")
_ESCAPED: Final = re.compile("[\0\ud800-\udfff]")


class TypeScriptError(Exception):
    """The source is no TypeScript; the message tells why."""


def prepare(source: str, language: str | None = None) -> str:
    """A cell's source as an engine is to run it.

    Raises:
        TypeScriptError: It is no TypeScript, although `language` says so.
    """
    source = escape(source)
    if language == "typescript":
        # Imports first: TypeScript drops those that nothing in the same cell uses.
        source = strip_types(_rewrite(source, types=True))
    return _rewrite(source)


def escape(source: str) -> str:
    """Source without what engines cannot read; in a string literal the escapes mean the same.

    UTF-8 has no lone surrogates, and a NUL would end the source.
    """
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", source)


def strip_types(source: str, name: str = "cell.ts") -> str:
    """TypeScript as JavaScript.

    Raises:
        TypeScriptError: It does not parse, or takes too much time or memory.
    """
    from interpstack.guests.javascript import typescript  # loads WebAssembly

    return typescript.strip_types(source, name)


def _rewrite(source: str, *, types: bool = False) -> str:
    if not _WORDS.search(source):
        return source
    from interpstack.guests.javascript.rewrite import rewrite  # loads the parser

    return rewrite(source, types=types)
