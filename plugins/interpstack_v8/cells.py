"""Prepares a cell's source for V8, whose scripts know no `await` and ignore some declarations."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from interpstack_javascript import cells
from interpstack_v8.context import LOCKED
from interpstack_v8.parsers import wrap_awaiting

__all__ = ["CellClock", "Script", "prepare"]


@attrs.frozen
class Script:
    """A cell as V8 runs it.

    Attributes:
        source: A classic script.
        awaits: Whether the value is a promise of the cell's value, in a box.
        shifts: The kernel's tables that lead back to places in the cell; empty if none has moved.
    """

    source: str
    awaits: bool = False
    shifts: str = ""


class CellClock(cells.ThreadClock):
    """The computing time of a cell's preparation, in this thread and in V8's.

    Args:
        seconds: How long it may; `None` for no limit.
        is_interrupted: Whether it is to stop anyway.
    """

    def __init__(self, seconds: float | None, is_interrupted: Callable[[], bool]) -> None:
        super().__init__(seconds, is_interrupted)
        self._elsewhere = 0.0

    @property
    def spent(self) -> float:
        return super().spent + self._elsewhere

    def computed(self, seconds: float) -> None:
        """Count the time that another thread computed for the cell."""
        self._elsewhere += seconds


def prepare(source: str, language: str | None, clock: CellClock) -> Script:
    """The script of a cell.

    Raises:
        TypeScriptError: The source is not TypeScript, although `language` says so.
        OutOfTime: The cell's time is up.
    """
    prepared = cells.prepared(source, language, clock)
    unwrapped = Script(prepared.source, shifts=prepared.shifts_text())
    if not cells.may_need_wrapping(prepared.source, LOCKED):
        return unwrapped
    clock.pause()
    wrapped = wrap_awaiting(prepared.source, clock.left())
    clock.computed(wrapped.cpu_seconds)
    clock.pause()
    if wrapped.source is None:
        return unwrapped
    shifts = prepared.shifts_text(wrapped.shifts)
    return Script(wrapped.source, awaits=True, shifts=shifts)
