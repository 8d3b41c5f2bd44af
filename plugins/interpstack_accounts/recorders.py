"""Recorders of the amounts that the calls of a cell, and everything they run, draw on an account.

A cell with a journal records the drawn amounts with each step. However, one of its calls may run
for a long time and run cells and models itself, as a subagent does. Their amounts are recorded in
the journals of all cells around them before they act, so that they count even if the process dies.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import attrs

from interpstack_accounts.records import SpendingRun

if TYPE_CHECKING:
    from interpstack import RunRecord
    from interpstack_accounts.accounts import Account

__all__ = ["Recorder", "record_drawn", "record_drawn_soon", "recorders"]

_around: ContextVar[tuple[Recorder, ...]] = ContextVar("interpstack_recorders", default=())


@attrs.define(eq=False, repr=False)
class Recorder:
    """Records for one run of a cell; made on the event loop that the record is used on.

    Attributes:
        account: The account on which amounts are drawn.
        record: The record of the run.
    """

    account: Account
    record: RunRecord
    _loop: asyncio.AbstractEventLoop = attrs.field(factory=asyncio.get_running_loop, init=False)
    _context: contextvars.Context = attrs.field(factory=contextvars.copy_context, init=False)
    _records: SpendingRun = attrs.field(factory=SpendingRun, init=False)
    _known: int = attrs.field(default=0, init=False)
    _wanted: int = attrs.field(default=0, init=False)
    _saved: int = attrs.field(default=0, init=False)
    _writing: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the amounts that everything in the block draws."""
        token = _around.set((*_around.get(), self))
        try:
            yield
        finally:
            _around.reset(token)

    async def save(self) -> None:
        """Wait until all amounts drawn so far are recorded; may be called on any event loop."""
        if asyncio.get_running_loop() is self._loop:
            await self._save()
        elif self._loop.is_running():  # else the run that began there is over
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._save(), self._loop))

    def save_soon(self) -> None:
        """Begin to record, and do not wait; called in any thread."""
        if self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._save(), self._loop)

    async def _save(self) -> None:
        """One write covers all who ask while the one before it is made."""
        self._wanted += 1
        mine = self._wanted
        while self._saved < mine:
            if self._writing is None:
                self._writing = self._loop.create_task(self._write(), context=self._context)
            await asyncio.shield(self._writing)

    async def _write(self) -> None:
        covered = self._wanted
        spent, known = self.account.spent(since=self._known)
        try:
            await self.record.keep_amounts(self._records.record(spent))
            self._saved, self._known = covered, known
        finally:
            self._writing = None


def recorders() -> tuple[Recorder, ...]:
    """The recorders of all cells that the current code runs for, outermost first."""
    return _around.get()


async def record_drawn() -> None:
    """Write the amounts drawn so far to the journals of all cells around the current code."""
    for recorder in _around.get():
        await recorder.save()


def record_drawn_soon() -> None:
    """`record_drawn` for code that cannot await: begins the record, and returns."""
    for recorder in _around.get():
        recorder.save_soon()
