"""Which cells are checked before they run: those that may call something on offer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from interpstack import BridgeSet, Cell, CellCheck, GuestError

__all__ = ["CALL_CHECK"]

#: Characters of a cell that is checked: the parser keeps the tree of such a source for the
#: preparation of the cell. Larger ones hold data for the most part.
_CHARS: Final = 16_384


class _CallCheck(CellCheck):
    """Finds calls of bridges that cannot succeed; `checking` has the rules."""

    def looks_at(self, cell: Cell, bridges: BridgeSet) -> bool:
        if len(cell.source) > _CHARS:
            return False
        roots = frozenset(one.name.partition(".")[0] for one in bridges if not one.hidden)
        return bool(roots) and _calls_of(roots).search(cell.source) is not None

    def refusal(
        self, cell: Cell, bridges: BridgeSet, members: Callable[[Sequence[str]], Sequence[str]]
    ) -> GuestError | None:
        from interpstack_javascript.checking import refusal  # loads the parser

        return refusal(cell, bridges, members)


@lru_cache(maxsize=64)
def _calls_of(roots: frozenset[str]) -> re.Pattern[str]:
    """Finds where a source may call something under these names."""
    names = "|".join(re.escape(one) for one in sorted(roots, key=len, reverse=True))
    return re.compile(rf"(?<![\w$])(?:(?<!\.)|(?<=\.\.\.))(?:{names})\s*(?:[.\[(]|\?\.)")


CALL_CHECK: Final = _CallCheck()
