"""Preparation of a cell's source, so that a script behaves like the input of a REPL.

Engines keep top-level `let`, `const` and `class` across scripts but refuse to declare them again.
So the keywords at the top level become `var` in place: same lines, same columns except for classes.
Imports become calls of the kernel, which asks the host for the module first. One pass over the
tokens finds them; text that the scan does not understand is left for the engine to report.

All of this takes time in proportion to the source, and the cell's clock can end it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import attrs

from interpstack_javascript.errors import TypeScriptError

__all__ = [
    "ENDLESS",
    "Clock",
    "OutOfTime",
    "Prepared",
    "ThreadClock",
    "TypeScriptError",
    "escape",
    "load",
    "may_need_wrapping",
    "prepare",
    "prepared",
    "strip_types",
]

_AWAIT: Final = re.compile(r"await\b")
#: Nothing to do for cells without one of these words.
_WORDS: Final = ("let", "const", "class", "import")


class Clock:
    """The time limit of preparation; this class has none.

    The time is proportional to the source: a second for a few MiB.
    """

    def pause(self) -> None:
        """Called every few milliseconds; an exception of an engine's own clock ends the work."""

    def left(self) -> float | None:
        """Remaining seconds; `None` for no limit."""
        return None


ENDLESS: Final = Clock()


class OutOfTime(Exception):
    """A cell was stopped because its time was up."""


class ThreadClock(Clock):
    """The computing time of a cell's preparation, in this thread.

    Args:
        seconds: Time for it; `None` for no limit.
        is_interrupted: Whether it is to stop anyway.
    """

    def __init__(self, seconds: float | None, is_interrupted: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._is_interrupted = is_interrupted
        self._began = time.thread_time()

    @property
    def spent(self) -> float:
        """Seconds that the preparation has computed."""
        return time.thread_time() - self._began

    def left(self) -> float | None:
        return None if self._seconds is None else self._seconds - self.spent

    def pause(self) -> None:
        """Return if time remains.

        Raises:
            OutOfTime: There is none.
        """
        left = self.left()
        if self._is_interrupted() or (left is not None and left <= 0):
            raise OutOfTime


@attrs.frozen(eq=False, repr=False)
class Prepared:
    """A cell as an engine is to run it.

    Attributes:
        source: A script.
        shifts: As `Edited.shifts`, leading to places in JavaScript without types.
    """

    source: str
    shifts: tuple[int, ...] | None = ()

    def shifts_text(self, first: str = "") -> str:
        """The argument of the kernel's `scriptName`; `first` is a table of a later change."""
        tables = [first] if first else []
        if self.shifts != ():
            tables.append(json.dumps(self.shifts))
        return f"[{','.join(tables)}]" if tables else ""


def prepare(source: str, language: str | None = None, clock: Clock = ENDLESS) -> str:
    """A cell's source as an engine is to run it; see `prepared`."""
    return prepared(source, language, clock).source


def prepared(source: str, language: str | None = None, clock: Clock = ENDLESS) -> Prepared:
    """A cell as an engine is to run it, with the way back to places in its source.

    Args:
        source: The source of the cell.
        language: The language of the source.
        clock: The cell's clock, since preparation counts as computing.

    Raises:
        TypeScriptError: The source is not TypeScript, although `language` says so.
    """
    if language == "typescript":
        # Imports first: TypeScript drops imports that the cell itself does not use.
        source = escape(_rewrite(source, clock, types=True).source)
        try:
            source = strip_types(source, seconds=clock.left())
        except TypeScriptError:
            clock.pause()  # it may have been too slow
            raise
    made = _rewrite(source, clock)
    return Prepared(escape(made.source), made.shifts)


def escape(source: str) -> str:
    """Source without characters that engines cannot read; escapes in string literals replace them.

    UTF-8 has no lone surrogates, and a NUL would end the source.
    """
    return source.replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode()


def may_need_wrapping(source: str, locked: tuple[str, ...]) -> bool:
    """Whether a prepared source may await something, or declare one of the globals in `locked`.

    `awaiting.js` reads such a source, and knows for certain.
    """
    return bool(_AWAIT.search(source) or _declaration(locked).search(source))


@cache
def _declaration(names: Sequence[str]) -> re.Pattern[str]:
    """A pattern of what may be a declaration of one of these names; it finds other text, too."""
    return re.compile(
        r"(?:\b(?:var|let|const|class|function)\s+|[,{\[:*]\s*|\.\.\.\s*)(?:"
        + "|".join(map(re.escape, names))
        + r")(?![\w$])"
    )


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
    if _is_rewritten(source):
        import interpstack_javascript.rewriting.rewrite  # noqa: F401 - its patterns take 5 ms
    if language == "typescript":
        from interpstack_javascript import typescript

        typescript.load()


def _is_rewritten(source: str) -> bool:
    return any(word in source for word in _WORDS)


def _rewrite(source: str, clock: Clock, *, types: bool = False) -> Prepared:
    if not _is_rewritten(source):
        return Prepared(source)
    from interpstack_javascript.rewriting.rewrite import rewrite  # see `load`

    made = rewrite(source, clock.pause, types=types)
    return Prepared(made.text, made.shifts)
