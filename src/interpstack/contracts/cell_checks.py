"""Checks of cells before they run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.protocol import Cell, GuestError

__all__ = ["CellCheck"]


class CellCheck(abc.ABC):
    """Refuses cells of one language that cannot be right, before anything of them runs.

    It says nothing where it is not sure: a cell that would run without an error is never refused.
    """

    @abc.abstractmethod
    def looks_at(self, cell: Cell, bridges: BridgeSet) -> bool:
        """Whether a cell is to be checked: a test that takes microseconds.

        Args:
            cell: The cell.
            bridges: The functions on offer.
        """

    @abc.abstractmethod
    def refusal(
        self, cell: Cell, bridges: BridgeSet, members: Callable[[Sequence[str]], Sequence[str]]
    ) -> GuestError | None:
        """The error of a cell that cannot be right; `None` for any other cell.

        Called in a guest thread, for cells that it `looks_at`.

        Args:
            cell: The cell.
            bridges: The functions on offer.
            members: Asks the guest for the names of the members of what is along a path.
        """
