"""Realms whose engine keeps them while their cell waits."""

from __future__ import annotations

import abc
from typing import Any

from interpstack import BridgeSet, ConfigurationError, Execution, Image, ImageError, Realm
from interpstack_javascript.kept_realms.keepable_execution import KeepableExecution
from interpstack_javascript.kept_realms.kept_realms import KeptRealms

__all__ = ["KeepableRealm"]


class KeepableRealm(Realm):
    """A realm that can be kept in the middle of a cell.

    Args:
        kept: Where the engine keeps such realms.
    """

    def __init__(self, kept: KeptRealms[Any]) -> None:
        self._kept = kept
        self._execution: KeepableExecution | None = None

    @abc.abstractmethod
    def _lend(self, *, kept: bool) -> None:
        """Note whether other realms may have the resources of the running cell."""

    @abc.abstractmethod
    def discard(self) -> None:
        """Free everything, though the realm is kept."""

    def close(self) -> None:
        if self._execution is None or not self._execution.is_kept:
            self.discard()

    def image(self) -> Image:
        """Keep the realm in the middle of a cell.

        Raises:
            ImageError: No cell waits in it.
        """
        execution = self._execution
        if execution is None or not execution.waits:
            raise ImageError("this engine has images only of cells that wait")
        execution.keep()
        self._lend(kept=True)
        return self._kept.keep(self)

    def go_on(self, bridges: BridgeSet) -> None:
        """Continue a realm that was kept, with these bridges.

        Raises:
            ImageError: The cell is lost; the realm is closed.
        """
        self._lend(kept=False)
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
