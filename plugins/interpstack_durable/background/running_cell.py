"""A running cell in the background, with its current time slice and its calls in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import attrs

from interpstack import Outcome, Request, to_end
from interpstack_durable.background.time_slices import SeenOutput, StillRunning, TimeSlice
from interpstack_durable.cell_journal import JournalStore
from interpstack_durable.in_flight import InFlightCalls, InFlightRegistry

__all__ = ["RunningCell"]


@attrs.define(eq=False, repr=False)
class RunningCell:
    """A cell that has not ended.

    Attributes:
        id: The id of the cell.
        code: The source.
        store: The store of its journal.
        in_flight: Calls that outlast a time slice.
        heard: Parts of the console output of the current time slice.
        seen: Console output and attachments that were returned.
        calls: The calls in flight that a time slice has left.
        recording: Records the answers of these calls.
        time_slice: The current time slice.
        run: The run of the current time slice.
    """

    id: str
    code: str
    store: JournalStore
    in_flight: InFlightRegistry = attrs.field(factory=InFlightRegistry)
    heard: list[str] = attrs.field(factory=list)
    seen: SeenOutput = attrs.field(factory=SeenOutput)
    calls: InFlightCalls | None = None
    recording: asyncio.Task[None] | None = None
    time_slice: TimeSlice | None = None
    run: asyncio.Task[Outcome] | None = None

    def begin(self, seconds: float, run: Callable[[], Coroutine[Any, Any, Outcome]]) -> None:
        """Begin a time slice."""
        self.time_slice = TimeSlice(seconds)
        self.run = asyncio.ensure_future(run())

    async def ended(self) -> Outcome | StillRunning:
        """Wait for the end of the current time slice, also if the caller is cancelled."""
        if self.run is None or self.time_slice is None:
            raise RuntimeError(f"no caller waits for cell {self.id}")
        try:
            await asyncio.wait({self.run})
        except asyncio.CancelledError:
            self.time_slice.cut()
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
        """Let the calls in flight continue after a time slice.

        If a time slice could not take the calls of the previous one, `stop_calls` still finds them.
        """
        left = None if self.time_slice is None else self.time_slice.calls
        self.time_slice = None
        if left is not None or run.exception() is None:
            self.calls = left
        if left is not None and run.exception() is not None:
            self.recording = asyncio.ensure_future(left.record_late_results())

    async def stop_recording(self) -> None:
        """Stop recording; the calls in flight continue."""
        recording, self.recording = self.recording, None
        if recording is not None:
            recording.cancel()
            await asyncio.wait({recording})

    async def stop_calls(self) -> Sequence[Request]:
        """Cancel the calls in flight, and wait a moment for their handlers to clean up.

        Returns:
            The requests of those calls.
        """
        await self.stop_recording()
        calls, self.calls = self.calls, None
        if calls is None:
            return ()
        running = calls.running
        await to_end(calls.stop())
        return running
