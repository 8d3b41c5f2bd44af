"""Runs of cells that outlive their user, because the engine keeps their realm."""

from __future__ import annotations

import abc

from interpstack_javascript.execution import KernelExecution

__all__ = ["KeepableExecution"]


class KeepableExecution(KernelExecution):
    """The run of a cell whose realm can be kept.

    While it is kept, `abort` and `interrupt` of its former user do nothing.
    """

    _kept = False

    @property
    def is_kept(self) -> bool:
        """Whether the realm of the run is kept."""
        return self._kept

    @property
    @abc.abstractmethod
    def waits(self) -> bool:
        """Whether the guest waits in the middle of the cell."""

    @abc.abstractmethod
    def _unheard(self) -> None:
        """Stop passing output on; a guest with a listener delivers it at each step."""

    def keep(self) -> None:
        """Leave the run as it is."""
        self._kept = True
        self._unheard()

    def go_on(self) -> None:
        """Continue the run for another user."""
        self._kept = False
