"""Prepares a cell's source for V8, whose scripts know no `await` and ignore some declarations."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

import attrs

from interpstack_javascript import cells
from interpstack_v8.context import LOCKED
from interpstack_v8.isolates.failures import OutOfTime
from interpstack_v8.parsers import wrap_awaiting

__all__ = ["CellClock", "Script", "prepare"]

_AWAIT: Final = re.compile(r"await\b")
#: What a declaration of a locked global looks like; other text may look like it, too.
_LOCKED: Final = re.compile(
    r"(?:\b(?:var|let|const|class|function)\s+|[,{\[:*]\s*|\.\.\.\s*)(?:"
    + "|".join(map(re.escape, LOCKED))
    + r")(?![\w$])"
)


@attrs.frozen
class Script:
    """A cell as V8 runs it.

    Attributes:
        source: A classic script.
        awaits: Whether the value is a promise of the cell's value, in a box.
    """

    source: str
    awaits: bool = False


class CellClock(cells.Clock):
    """The computing time of a cell's preparation, in this thread and in V8's.

    Args:
        seconds: How long it may; `None` for no limit.
        is_interrupted: Whether it is to stop anyway.
    """

    def __init__(self, seconds: float | None, is_interrupted: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._is_interrupted = is_interrupted
        self._began = time.thread_time()
        self._elsewhere = 0.0

    @property
    def spent(self) -> float:
        return time.thread_time() - self._began + self._elsewhere

    def computed(self, seconds: float) -> None:
        """Count the time that another thread computed for the cell."""
        self._elsewhere += seconds

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


def prepare(source: str, language: str | None, clock: CellClock) -> Script:
    """The script of a cell.

    Raises:
        TypeScriptError: It is no TypeScript, although `language` says so.
        OutOfTime: The cell's time is up.
    """
    source = cells.prepare(source, language, clock)
    if not _AWAIT.search(source) and not _LOCKED.search(source):
        return Script(source)
    clock.pause()
    wrapped = wrap_awaiting(source, clock.left())
    clock.computed(wrapped.cpu_seconds)
    clock.pause()
    return Script(source) if wrapped.source is None else Script(wrapped.source, awaits=True)
