"""Stores for the records of durable cells, as an adapter writes them over a store of its own."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from interpstack import Request

__all__ = ["JournalBase", "Notes"]


class Notes(Protocol):
    """Notes that a store may leave beside the steps of a cell, such as decisions."""

    def noted(self, key: str) -> Any:
        """The note under `key`; `None` if there is none."""

    async def note(self, notes: Mapping[str, Any]) -> None:
        """Store notes, plain data by key; return once they are safe."""


class JournalBase(abc.ABC):
    """Base class for the journal store of one durable cell; subclasses write `load` and `append`.

    `interpstack_durable.api.Journals` takes such stores. An adapter that resumes a cell gives it
    a store with the same key and the same entries; then no call that ended is made again.

    Args:
        key: Identifies the cell among all cells, the same in every run of it.
    """

    #: Whether a suspended run is stored, so that it need not run again from its start.
    suspends: bool = False
    #: Seconds that a pause waits for calls in flight.
    pause_grace: float = 5.0

    def __init__(self, key: str) -> None:
        self.key = key

    @abc.abstractmethod
    async def load(self) -> Sequence[Mapping[str, Any]]:
        """The entries that were appended, in order."""

    @abc.abstractmethod
    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        """Store an entry, which is plain JSON; return once the entry is safe.

        Args:
            index: Place of the entry. An entry that is there already is replaced.
            entry: The entry.
        """

    async def append_spent(self, record: Mapping[str, Any]) -> None:
        """Store a record of amounts drawn on a budget.

        Raises:
            NotImplementedError: By default; override it together with `spent`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not store budgets: override append_spent and spent, or "
            "run durable cells outside of an account"
        )

    def spent(self) -> Sequence[Mapping[str, Any]]:
        """The records of drawn amounts that were stored when the entries were loaded."""
        return ()

    async def keep_suspended(self, text: str) -> None:
        """Store an unfinished run, so that it can continue; called only if `suspends` is true.

        Raises:
            NotImplementedError: By default; override it together with `suspended`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not store suspended runs: override keep_suspended and "
            "suspended, or leave `suspends` False"
        )

    async def suspended(self) -> str | None:
        """The stored image of the suspended run; `None` by default."""
        return None

    async def take_answers(self, journal: Notes) -> None:  # noqa: B027 - not every store needs it
        """Called when all recorded steps have been replayed; does nothing by default."""

    async def pause(
        self,
        journal: Notes,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
    ) -> BaseException:
        """The exception that leaves a paused cell; by default the exception of its first call.

        Args:
            journal: The notes on the cell.
            paused: Calls that cannot be answered now, with the exceptions of their handlers.
            running: Calls that are still at work.
        """
        return paused[0][1]
