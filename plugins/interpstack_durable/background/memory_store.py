"""A journal store in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from interpstack import Request
from interpstack_durable.journal import Journal

__all__ = ["MemoryJournalStore"]


@attrs.define(eq=False, repr=False)
class MemoryJournalStore:
    """A journal store in memory, for a cell that does not outlive its process.

    Attributes:
        key: Identifies the cell among all cells.
        pause_grace: See `Journal.pause_grace`.
    """

    key: str
    pause_grace: float = 5.0
    suspends: bool = attrs.field(default=True, init=False)
    _entries: dict[int, Mapping[str, Any]] = attrs.field(factory=dict, init=False)
    _spent: list[Mapping[str, Any]] = attrs.field(factory=list, init=False)
    _text: str | None = attrs.field(default=None, init=False)

    async def load(self) -> Sequence[Mapping[str, Any]]:
        """All entries, in order."""
        return list(self._entries.values())

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        """Store an entry."""
        self._entries[index] = entry

    async def append_spent(self, record: Mapping[str, Any]) -> None:
        """Store a record of drawn amounts."""
        self._spent.append(record)

    def spent(self) -> Sequence[Mapping[str, Any]]:
        """All records of drawn amounts."""
        return self._spent

    async def keep_suspended(self, text: str) -> None:
        """Store the suspended run."""
        self._text = text

    async def suspended(self) -> str | None:
        """The suspended run."""
        return self._text

    async def take_answers(self, journal: Journal) -> None:
        """Continue after the recorded steps; nothing is to be done for that."""

    async def pause(
        self,
        journal: Journal,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
    ) -> BaseException:
        """The exception of the first call that cannot be answered now."""
        return paused[0][1]
