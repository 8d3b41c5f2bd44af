"""Which cells are checked before they run: those that may call something on offer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from interpstack import BridgeSet, Cell, CellCheck, GuestError

__all__ = ["CallCheck"]

#: Characters of a cell that is checked: the parser keeps the tree of such a source for the
#: preparation of the cell. Larger ones hold data for the most part.
_CHARS: Final = 16_384
#: Cells that passed, which are remembered: agents and replays run the same ones again.
_PASSED: Final = 64


class CallCheck(CellCheck):
    """Finds calls of bridges that cannot succeed; `checking` has the rules.

    Args:
        bridges: The functions on offer.
    """

    def __init__(self, bridges: BridgeSet) -> None:
        self._bridges = bridges
        self._roots = frozenset(one.name.partition(".")[0] for one in bridges if not one.hidden)
        names = "|".join(re.escape(one) for one in sorted(self._roots, key=len, reverse=True))
        before, after = r"(?<![\w$])(?:(?<!\.)|(?<=\.\.\.))", r"\s*(?:[.\[(]|\?\.)"
        self._call = re.compile(f"{before}(?:{names}){after}") if names else None
        self._passed: dict[tuple[str, str | None], None] = {}

    def looks_at(self, cell: Cell) -> bool:
        if self._call is None or len(cell.source) > _CHARS:
            return False
        if self._call.search(cell.source) is None:
            return False
        return (cell.source, cell.language) not in self._passed

    def refusal(
        self, cell: Cell, members: Callable[[Sequence[str]], Sequence[str]]
    ) -> GuestError | None:
        from interpstack.guests import refused  # for cells with calls only

        faults = self.faults(cell, members)
        return refused(cell, faults) if faults else None

    def faults(
        self, cell: Cell, members: Callable[[Sequence[str]], Sequence[str]]
    ) -> Sequence[Any]:
        """The calls of a cell that cannot succeed, as an `EarlyFault` each; see `refusal`."""
        from interpstack_javascript.checking import faults_of  # loads the parser

        found = faults_of(cell, self._bridges, self._roots, members)
        if not found:
            if len(self._passed) >= _PASSED:
                self._passed.clear()
            self._passed[cell.source, cell.language] = None
        return found
