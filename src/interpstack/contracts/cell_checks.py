"""Checks of cells before they run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence

from interpstack.contracts.protocol import Cell, GuestError

__all__ = ["CellCheck", "CellUnchecked"]


class CellUnchecked(Exception):
    """Raised by a check that cannot check a cell, which runs then.

    The text is a notice for the reader of its outcome.
    """


class CellCheck(abc.ABC):
    """Refuses cells that cannot be right with the functions on offer, before anything of them runs.

    It says nothing where it is not sure: a cell that would run without an error is never refused.
    A session has one for as long as it offers the same functions.
    """

    @abc.abstractmethod
    def looks_at(self, cell: Cell) -> bool:
        """Whether a cell is to be checked: a test that takes microseconds."""

    @abc.abstractmethod
    def refusal(
        self, cell: Cell, members: Callable[[Sequence[str]], Sequence[str]]
    ) -> GuestError | None:
        """The error of a cell that cannot be right; `None` for any other cell.

        Called in a guest thread, for cells that it `looks_at`.

        Args:
            cell: The cell.
            members: Asks the guest for the names of the members of what is along a path.

        Raises:
            CellUnchecked: The cell is to run, with a notice that it was not checked.
        """

    def ended(self, cell: Cell, *, ok: bool) -> None:  # noqa: B027 - most need not
        """Note that a cell has run, and whether it did so without an error. By default, nothing."""

    def forget(self) -> None:  # noqa: B027 - most need not
        """Forget what earlier cells did: the guest has another state. By default, nothing."""

    def follow(self, before: CellCheck) -> None:  # noqa: B027 - most need not
        """Take over what another check knows of earlier cells. By default, nothing.

        Called before the first cell, where the functions on offer have changed.
        """
