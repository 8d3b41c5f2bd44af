"""Scripts that engines run for cells, and the clock of making them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    from interpstack_javascript.edits import Shifts

__all__ = ["ENDLESS", "CellTimeout", "Clock", "Prepared", "ThreadClock"]


class Clock:
    """The time limit of preparation; this class has none.

    The time is proportional to the source: a second for a few hundred KiB.
    """

    def pause(self) -> None:
        """Called every few milliseconds; an exception of an engine's own clock ends the work."""

    def left(self) -> float | None:
        """Remaining seconds; `None` for no limit."""
        return None


ENDLESS: Final = Clock()


class CellTimeout(Exception):
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
            CellTimeout: There is none.
        """
        left = self.left()
        if self._is_interrupted() or (left is not None and left <= 0):
            raise CellTimeout


@attrs.frozen(eq=False, repr=False)
class Prepared:
    """A cell as an engine is to run it.

    Attributes:
        source: A script for the built-in `eval`.
        functions: A script to run before it: the function declarations of a cell that awaits.
        awaits: Whether the value of `source` is a promise of the cell's value, in a box.
        declares: Whether the value of `source` is that of a declaration, which a promise stays.
        shifts: The kernel's table that leads from columns of `source` back to those of the cell;
            empty if no column has moved, `None` if too many have. `kernel/places.js` describes it.
        function_shifts: The same for `functions`.
        declared: Names that the cell declares, by kind: `let` (which includes classes), `const`,
            `var` and `function`.
    """

    source: str
    functions: str = ""
    awaits: bool = False
    declares: bool = False
    shifts: Shifts = ()
    function_shifts: Shifts = ()
    declared: dict[str, list[str]] = attrs.Factory(dict)

    def command(self) -> dict[str, Any]:
        """The part of the kernel's command `begin` that is about the script."""
        data: dict[str, Any] = {"source": self.source}
        if self.awaits:
            data["awaits"] = True
        if self.declares:
            data["declares"] = True
        if self.declared:
            data["declared"] = self.declared
        if self.shifts != ():
            data["shifts"] = self.shifts
        if self.functions:
            data["functions"] = self.functions
            if self.function_shifts != ():
                data["functionShifts"] = self.function_shifts
        return data
