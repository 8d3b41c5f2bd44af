"""A journal's store that can lose its process, and cells that wait for a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from interpstack_durable.api import MemoryJournalStore

__all__ = ["Died", "Memory", "Ordered", "Waits"]


class Waits(Exception):
    """A call waits for somebody."""


class Died(Exception):
    """The process died, as far as the test is concerned."""


@attrs.define(eq=False)
class Ordered(MemoryJournalStore):
    """A journal's store that refuses gaps, and shows what it has."""

    key: str = "cell"
    pause_grace: float = 5.0
    suspends: bool = False

    @property
    def entries(self) -> list[Any]:
        """The entries, in order."""
        return list(self._entries.values())

    @entries.setter
    def entries(self, entries: Sequence[Any]) -> None:
        self._entries = dict(enumerate(entries))

    @property
    def records(self) -> list[Any]:
        """The records of drawn amounts."""
        return self._spent

    @property
    def text(self) -> str | None:
        """The suspended run."""
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text = text

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        assert index == len(self._entries), "an entry is missing"
        await super().append(index, entry)


@attrs.define(eq=False)
class Memory(Ordered):
    """A journal's store that can lose its process.

    Attributes:
        dies_after: The number of the entry after which the process dies.
        decided: Whether calls of `gated` may be made.
        running: Names of the calls that the last pause did not wait for.
    """

    pause_grace: float = 60.0
    dies_after: int | None = None
    decided: bool = False
    running: Sequence[str] = attrs.field(default=(), init=False)

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        await super().append(index, entry)
        if len(self._entries) == self.dies_after:
            raise Died

    async def take_answers(self, journal: Any) -> None:
        if journal.noted("paused") and not self.decided:
            raise Waits

    async def pause(self, journal: Any, paused: Any, running: Any) -> BaseException:
        self.running = [request.bridge for request in running]
        await journal.note({"paused": True})
        return Waits()
