"""Preparation of a cell's source, so that a script behaves like the input of a REPL.

Every engine runs the result with the built-in `eval`, as sloppy script code of the global scope. So
`var` and functions are global variables by themselves. The rest is edited in place, with lines as
they were:

* `let`, `const` and `class` of the top level become variables that a later cell can declare again.
  The kernel makes them throw before they are initialized, and constants refuse values afterwards.
* Imports become calls of the kernel, which asks the host for the module first.
* A cell that awaits moves into an async function; its function declarations run before, as a script
  of their own, so that they stay global functions.
* Types of TypeScript are blanked.

The parser decides what any of this is. Tried before: a scan of tokens by regular expressions, which
misread sources and accepted `const x;`; the engines' own ways to await at the top level, which
disagree about strictness, columns and what a declaration without initializer does.
"""

from __future__ import annotations

import re
from typing import Final

from interpstack_javascript.errors import SourceError, TypeScriptError
from interpstack_javascript.scripts import ENDLESS, CellTimeout, Clock, Prepared, ThreadClock

__all__ = [
    "ENDLESS",
    "CellTimeout",
    "Clock",
    "Prepared",
    "SourceError",
    "ThreadClock",
    "TypeScriptError",
    "escape",
    "fault_of",
    "is_plain",
    "load",
    "prepared",
    "strip_types",
]

#: Sources that need no preparation: expressions of names, numbers, plain texts and operators.
_PLAIN: Final = re.compile(
    r"""(?:[\w$.,;()\[\]+*%&|?\s-]|(?<![=!<>])=|[<>!=]=+|"[^"\\\n]*"|'[^'\\\n]*')*+""", re.ASCII
)
_WORDS: Final = re.compile(
    r"\b(?:abstract|as|async|await|class|const|declare|do|enum|export|for|function|if|import"
    r"|interface|let|module|namespace|return|satisfies|switch|try|type|using|var|while|with|yield)\b"
)


def prepared(
    source: str, language: str | None = None, clock: Clock = ENDLESS, *, for_quickjs: bool = False
) -> Prepared:
    """A cell as an engine is to run it, with the way back to places in its source.

    TypeScript is accepted whatever the language says: a source that is not JavaScript is read as
    TypeScript.

    Args:
        source: The source of the cell.
        language: The language of the source; `typescript` reads it as nothing else.
        clock: The cell's clock, since preparation counts as computing.
        for_quickjs: Whether QuickJS is to run it, which runs some loops and default values in
            another way than the language says: the loops are changed, the others refused.

    Raises:
        SourceError: The source does not parse, or has syntax that cells do not have.
    """
    source = escape(source)
    if language != "typescript" and is_plain(source):
        return Prepared(source)
    from interpstack_javascript.preparation import prepare  # loads the parser

    return prepare(source, language, clock, for_quickjs=for_quickjs)


def fault_of(source: str) -> SourceError | None:
    """The fault of a source that an engine refuses; `None` if the engine's own words are best."""
    from interpstack_javascript.preparation import prepare, unseen_fault

    if not is_plain(source):
        return unseen_fault(escape(source))
    try:
        prepare(escape(source), None, ENDLESS)
    except SourceError as error:
        return error
    return None


def is_plain(source: str) -> bool:
    """Whether a source is the same after preparation, and any fault of it is the engine's to tell.

    Exact for what it accepts: names, members, calls, numbers, plain texts and operators, without
    any word that may declare, await, import or annotate.
    """
    return _PLAIN.fullmatch(source) is not None and _WORDS.search(source) is None


def escape(source: str) -> str:
    """Source without characters that engines cannot read; escapes in string literals replace them.

    UTF-8 has no lone surrogates, and a NUL would end the source.
    """
    return source.replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode()


def strip_types(source: str, name: str = "cell.ts", seconds: float | None = None) -> str:
    """TypeScript as JavaScript.

    Raises:
        TypeScriptError: It does not parse, or takes too much time or memory.
    """
    from interpstack_javascript import typescript  # loads WebAssembly

    return typescript.strip_types(source, name, seconds)


def load(source: str, language: str | None) -> None:
    """Load the tools for preparing a cell, which can take seconds without a cache.

    An engine calls it first: that is not the cell's time.
    """
    if language == "typescript" or not is_plain(escape(source)):
        from interpstack_javascript.parser import parsing

        parsing.load()
