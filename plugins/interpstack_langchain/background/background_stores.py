"""Stores for the journals of cells in the background, which several steps of a graph continue."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import attrs

from interpstack_langchain.background.terminations import CellOver, Termination, Terminations
from interpstack_langchain.durability.checkpoint_stores import CheckpointStore
from interpstack_langchain.durability.checkpoint_writes import (
    JOURNAL_CHANNEL,
    CheckpointWrites,
    eval_key,
    recorded_entries,
)

__all__ = ["BackgroundStore", "Images"]

#: Characters of all suspended runs in memory.
_MAX_CHARS: Final = 2**28


class Images:
    """Suspended runs in memory, for graphs without a store; the oldest are dropped first."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._chars = 0

    def get(self, key: str) -> str | None:
        """The suspended run of a cell."""
        return self._texts.get(key)

    def keep(self, key: str, text: str) -> None:
        """Store the suspended run of a cell."""
        self.drop(key)
        self._texts[key] = text
        self._chars += len(text)
        while self._chars > _MAX_CHARS:
            self.drop(next(iter(self._texts)))

    def drop(self, key: str) -> None:
        """Forget the suspended run of a cell."""
        self._chars -= len(self._texts.pop(key, ""))


@attrs.define(eq=False, kw_only=True, repr=False)
class BackgroundStore(CheckpointStore):
    """The journal of a cell that may be suspended.

    Attributes:
        step: The checkpoint that the current step started from; the journal may be in an earlier
            one.
        continued: Whether an earlier step began the cell.
        images: Suspended runs, where the graph has no store.
        call: Name of the model's call that runs now, among the calls of its message.
        terminations: Terminations in memory.
    """

    step: CheckpointWrites
    continued: bool
    images: Images
    call: str = ""
    terminations: Terminations = attrs.field(factory=Terminations)
    _suspended_here: bool = attrs.field(default=False, init=False)

    @property
    def resuming(self) -> bool:
        """Whether the current step may have been run before."""
        return self.step.checkpoint.resuming

    async def read_earlier_runs(self) -> None:
        if not self.continued:
            await super().read_earlier_runs()
            return
        entries = recorded_entries(self.key, await self.writes.read())
        self.needs_state = bool(entries) and not entries[0].get("stateless")

    async def exists(self) -> bool:
        """Whether the checkpoint with the journal is still stored, or never was."""
        if self.writes.checkpoint.stored_at_exit:
            return True
        return await self.writes.stored() is not None

    def termination(self, why: str) -> Termination:
        """Return the termination of the cell by the current call."""
        config = self.step.checkpoint.config
        return Termination(why, eval_key(config, ""), eval_key(config, self.call))

    async def decided(self) -> Termination | None:
        """Return the termination of the cell, if it was decided."""
        begun_before = self.continued or self._suspended_here or self.writes.checkpoint.resuming
        return self.terminations.of(self.key, await self.writes.read() if begun_before else ())

    async def decide(self, why: str) -> None:
        """Store the termination of the cell, under its lock; the first one counts."""
        task, stored = self.terminations.decide(self.key, self.termination(why))
        await self.writes.put([(JOURNAL_CHANNEL, stored)], task)

    async def ask_to_end(self, why: str) -> None:
        """Let no run of the cell begin, in any process, and have a run that holds its lock end."""
        task, stored = self.terminations.ask(self.key, self.termination(why))
        await self.writes.put([(JOURNAL_CHANNEL, stored)], task)

    async def admit(self) -> None:
        """Return if the current call may continue the cell.

        Raises:
            CellOver: The cell has ended, or was terminated.
        """
        decided = await self.decided()
        if decided is not None and decided.ends(self.termination("")):
            raise CellOver(decided.why)

    @property
    def suspends(self) -> bool:
        """Whether suspended runs are stored; those of cells in the background always are."""
        return True

    async def keep_suspended(self, text: str) -> None:
        """Store a suspended run, in memory if the graph has no store."""
        if self._paused is None:
            self.images.keep(self.key, text)
        else:
            await super().keep_suspended(text)

    async def suspended(self) -> str | None:
        """The stored suspended run; `None` if there is none or its signature is wrong."""
        return self.images.get(self.key) if self._paused is None else await super().suspended()

    async def ended(self) -> None:
        """Delete the data that was only needed to resume."""
        self.images.drop(self.key)
        await super().ended()

    def mark_suspended(self) -> None:
        """Let the next run take over the values that calls in flight return."""
        self._suspended_here = True
        self.ends_before_its_calls()
        if self._database is not None:
            self._database.leave(self.key, self)
