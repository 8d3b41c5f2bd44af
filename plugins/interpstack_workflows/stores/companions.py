"""Data that other packages store beside the runs of a store, such as conversations of agents."""

from __future__ import annotations

import abc
import asyncio
import logging
import threading
from importlib.metadata import entry_points
from typing import Final

from interpstack import ConfigurationError
from interpstack_state import StateStore

__all__ = ["Companions", "RunCompanion"]

#: Distributions add companions in this group: a name, and a function that takes a `StateStore` and
#: returns a `RunCompanion`, or `None` if it stores nothing beside stores of this kind.
_GROUP: Final = "interpstack.run_companions"
_log: Final = logging.getLogger(__name__)


class RunCompanion(abc.ABC):
    """Keeps something beside the runs of one store, and deletes it with them."""

    @abc.abstractmethod
    async def delete(self, run_id: str) -> None:
        """Delete what belongs to a run; nothing happens if nothing does."""

    @abc.abstractmethod
    async def aclose(self) -> None:
        """Free what the companion has opened."""


class Companions:
    """The companions of one store, each made when it is first needed.

    Args:
        state: The store.
    """

    def __init__(self, state: StateStore) -> None:
        self._state = state
        self._made: dict[str, RunCompanion | None] = {}
        self._making = threading.Lock()

    async def get(self, name: str) -> RunCompanion | None:
        """Return a companion by name; `None` if its package is missing, or it stores nothing here.

        Raises:
            ConfigurationError: A package that the companion needs is not installed.
        """
        if name in self._made:
            return self._made[name]
        return await asyncio.to_thread(self._get, name)

    async def delete(self, run_id: str) -> None:
        """Delete what belongs to a run; a companion that cannot be made is named in the log."""
        for name in sorted({point.name for point in entry_points(group=_GROUP)}):
            try:
                companion = await self.get(name)
            except ConfigurationError as error:
                _log.warning("the data of %r beside run %s is not deleted: %s", name, run_id, error)
                continue
            if companion is not None:
                await companion.delete(run_id)

    async def aclose(self) -> None:
        """Free what the companions have opened."""
        for companion in await asyncio.to_thread(self._take):
            await companion.aclose()

    def _get(self, name: str) -> RunCompanion | None:
        # Calls of agents that begin together get one companion: nobody would close a second one.
        with self._making:
            if name not in self._made:
                self._made[name] = _make(name, self._state)
            return self._made[name]

    def _take(self) -> list[RunCompanion]:
        with self._making:
            made, self._made = [*self._made.values()], {}
        return [companion for companion in made if companion is not None]


def _make(name: str, state: StateStore) -> RunCompanion | None:
    for point in entry_points(group=_GROUP, name=name):
        try:
            function = point.load()
        except ImportError as error:  # it has an extra that is not installed
            _log.debug("the companion %r of stores is left out: %s", name, error)
            return None
        made: RunCompanion | None = function(state)
        return made
    return None
