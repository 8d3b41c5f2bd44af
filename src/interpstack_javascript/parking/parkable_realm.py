"""Realms whose engine keeps them while their cell waits."""

from __future__ import annotations

import abc
from typing import Any

from interpstack import BridgeSet, ConfigurationError, Execution, Image, ImageError, Realm
from interpstack_javascript.parking.parkable_execution import ParkableExecution
from interpstack_javascript.parking.parked_realms import ParkedRealms

__all__ = ["ParkableRealm"]


class ParkableRealm(Realm):
    """A realm that can be parked in the middle of a cell.

    Args:
        parked: Where the engine keeps such realms.
    """

    def __init__(self, parked: ParkedRealms[Any]) -> None:
        self._parked = parked
        self._execution: ParkableExecution | None = None

    @abc.abstractmethod
    def _lend(self, *, parked: bool) -> None:
        """Note whether other realms may have the resources of the running cell."""

    @abc.abstractmethod
    def discard(self) -> None:
        """Free everything, though the realm is parked."""

    def close(self) -> None:
        if self._execution is None or not self._execution.is_parked:
            self.discard()

    def image(self) -> Image:
        """Park the realm in the middle of a cell.

        Raises:
            ImageError: No cell waits in it.
        """
        execution = self._execution
        if execution is None or not execution.waits:
            raise ImageError("this engine has images only of cells that wait")
        execution.park()
        self._lend(parked=True)
        return self._parked.park(self)

    def go_on(self, bridges: BridgeSet) -> None:
        """Continue a realm that was parked, with these bridges.

        Raises:
            ImageError: The cell is lost; the realm is closed.
        """
        self._lend(parked=False)
        execution = self._execution
        if execution is not None and execution.waits:
            self.bind(bridges)
            if execution.waits:
                execution.go_on()
                return
        self.discard()
        raise ImageError("the memory of the cell was released; run it again")

    def resume(self, before: Image | None = None) -> Execution:
        if self._execution is None or not self._execution.waits:
            raise ConfigurationError("no cell waits in this realm")
        return self._execution
