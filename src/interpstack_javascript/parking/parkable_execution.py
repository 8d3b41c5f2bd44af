"""Runs of cells that outlive their user, because the engine keeps their realm."""

from __future__ import annotations

import abc

from interpstack_javascript.execution import KernelExecution

__all__ = ["ParkableExecution"]


class ParkableExecution(KernelExecution):
    """The run of a cell whose realm can be parked.

    While it is parked, `abort` and `interrupt` of its former user do nothing.
    """

    _parked = False

    @property
    def is_parked(self) -> bool:
        """Whether the realm of the run is parked."""
        return self._parked

    @property
    @abc.abstractmethod
    def waits(self) -> bool:
        """Whether the guest waits in the middle of the cell."""

    @abc.abstractmethod
    def _unheard(self) -> None:
        """Stop passing output on; a guest with a listener delivers it at each step."""

    def park(self) -> None:
        """Leave the run as it is."""
        self._parked = True
        self._unheard()

    def go_on(self) -> None:
        """Continue the run for another user."""
        self._parked = False
