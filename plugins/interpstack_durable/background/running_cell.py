"""A cell in the background that has not ended, with its current look and its calls in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import attrs

from interpstack import Outcome, Request, to_end
from interpstack_durable.background.looks import Look, SeenOutput, StillRunning
from interpstack_durable.cell_journal import JournalStore
from interpstack_durable.flights import CallsInFlight, Flights

__all__ = ["RunningCell"]


@attrs.define(eq=False, repr=False)
class RunningCell:
    """A cell that has not ended.

    Attributes:
        id: The id of the cell.
        code: The source.
        store: The store of its journal.
        flights: Calls that outlast a look.
        heard: Parts of the console output of the current look.
        shown: Console output and attachments that were returned.
        calls: The calls in flight that a look has left.
        landing: Records the answers of these calls.
        look: The current look.
        run: The run of the current look.
    """

    id: str
    code: str
    store: JournalStore
    flights: Flights = attrs.field(factory=Flights)
    heard: list[str] = attrs.field(factory=list)
    shown: SeenOutput = attrs.field(factory=SeenOutput)
    calls: CallsInFlight | None = None
    landing: asyncio.Task[None] | None = None
    look: Look | None = None
    run: asyncio.Task[Outcome] | None = None

    def begin(self, seconds: float, run: Callable[[], Coroutine[Any, Any, Outcome]]) -> None:
        """Begin a look."""
        self.look = Look(seconds)
        self.run = asyncio.ensure_future(run())

    async def ended(self) -> Outcome | StillRunning:
        """Wait for the end of the current look, also if the caller is cancelled."""
        if self.run is None or self.look is None:
            raise RuntimeError(f"no caller waits for cell {self.id}")
        try:
            await asyncio.wait({self.run})
        except asyncio.CancelledError:
            self.look.cut()
            await to_end(asyncio.wait({self.run}))
            raise
        finally:
            if self.run.done() and not self.run.cancelled():
                self._note(self.run)
        try:
            return self.run.result()
        except StillRunning as still:
            return still

    def _note(self, run: asyncio.Task[Outcome]) -> None:
        """Let the calls in flight continue after a look.

        A look that could not take the calls of the one before leaves them to be stopped.
        """
        left = None if self.look is None else self.look.calls
        self.look = None
        if left is not None or run.exception() is None:
            self.calls = left
        if left is not None and run.exception() is not None:
            self.landing = asyncio.ensure_future(left.land())

    async def stop_landing(self) -> None:
        """Stop recording; the calls in flight continue."""
        landing, self.landing = self.landing, None
        if landing is not None:
            landing.cancel()
            await asyncio.wait({landing})

    async def stop_calls(self) -> Sequence[Request]:
        """Cancel the calls in flight, and wait a moment for their handlers to clean up.

        Returns:
            The requests of those calls.
        """
        await self.stop_landing()
        calls, self.calls = self.calls, None
        if calls is None:
            return ()
        running = calls.running
        await to_end(calls.stop())
        return running
