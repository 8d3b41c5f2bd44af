"""Follow live runs in this process: their events are more recent than their records."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from interpstack_workflows.api import (
    AgentCompletedEvent,
    AgentFailedEvent,
    AgentStartedEvent,
    LogEvent,
    PhaseEvent,
    RunHandle,
    RunTree,
    StepEvent,
    WaitOpenedEvent,
    WorkflowError,
    WorkflowEvent,
    WorkflowRecord,
    WorkflowRunner,
)

__all__ = ["WatchedRun", "WatchedRuns"]

#: Events that are queued for a watcher; beyond that, it reads the records instead.
_CAPACITY: Final = 10_000
#: Seconds between two polls of a run that another process works on.
_POLL_SECONDS: Final = 0.5
_AT_REST: Final = ("completed", "failed", "cancelled", "waiting")


class WatchedRun:
    """One live run, followed by its events.

    Args:
        runner: Runs it.
        run_id: Identifies it.

    Attributes:
        tree: Its workflows, phases and steps.
        log: What it logged last.
        phase: The phase that it entered last.
    """

    def __init__(self, runner: WorkflowRunner, run_id: str) -> None:
        self.tree = RunTree()
        self.log = ""
        self.phase = ""
        self._events = runner.subscribe(run_id, _CAPACITY)
        self._waits: dict[tuple[str, str | None], Mapping[str, Any]] = {}
        self._handle: RunHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, handle: RunHandle) -> asyncio.Task[None]:
        """Follow the run until it has ended; returns the task that does so."""
        self._handle = handle
        self._task = asyncio.create_task(self._follow())
        return self._task

    def close(self) -> None:
        """Follow the run no more."""
        self._events.close()
        if self._task is not None:
            self._task.cancel()

    @property
    def complete(self) -> bool:
        """Whether no event was missed."""
        return not self._events.missed

    def waiting_for(self) -> list[Mapping[str, Any]]:
        """Return the open questions, signals, approvals and sleeps."""
        return list(self._waits.values())

    async def rest(self, seconds: float) -> None:
        """Wait until the run has ended, needs a person to continue, or the time is over.

        Raises:
            WorkflowError: This process can do nothing more for the run.
        """
        if self._handle is not None:
            try:
                await asyncio.wait_for(self._handle.rest(), seconds)
            except TimeoutError:
                return
            await asyncio.sleep(0)  # lets `_follow` take the events of the end

    async def _follow(self) -> None:
        async for event in self._events:
            self._take(event)

    def _take(self, event: WorkflowEvent) -> None:
        self.tree.take(event)
        step = event.scope, event.step
        match event:
            case WaitOpenedEvent(waiting_for=wait):
                self._waits[step] = wait
            case StepEvent() | AgentStartedEvent() | AgentCompletedEvent() | AgentFailedEvent():
                self._waits.pop(step, None)
            case LogEvent(message=message):
                self.log = message
            case PhaseEvent(name=name):
                self.phase = name


class WatchedRuns:
    """The runs of one runner that are followed, on its loop."""

    def __init__(self) -> None:
        self._runs: dict[str, WatchedRun] = {}
        self._runner: WorkflowRunner | None = None

    async def start(self, runner: WorkflowRunner, run_id: str, *given: Any, **options: Any) -> None:
        """Start a run, and follow it; the arguments are those of `WorkflowRunner.start`."""
        watched = WatchedRun(runner, run_id)
        try:
            handle = await runner.start(*given, run_id=run_id, **options)
        except BaseException:
            watched.close()
            raise
        self._watch(runner, run_id, watched, handle)

    async def of(self, runner: WorkflowRunner, record: WorkflowRecord) -> WatchedRun | None:
        """Return the followed run of a record; a run that is not followed yet is resumed.

        Returns:
            The run; `None` if it has ended.
        """
        known = self._runs.get(record.id) if runner is self._runner else None
        if known is not None or record.has_ended:
            return known
        watched = WatchedRun(runner, record.id)
        try:
            handle = await runner.resume(record.id, wait=False)
        except BaseException:
            watched.close()
            raise
        self._watch(runner, record.id, watched, handle)
        return watched

    async def rest(self, runner: WorkflowRunner, record: WorkflowRecord, seconds: float) -> None:
        """Wait for a run; see `WatchedRun.rest`. Another process may work on it."""
        until = time.monotonic() + seconds
        watched = await self.of(runner, record)
        if watched is None:
            return
        try:
            await watched.rest(seconds)
        except WorkflowError:  # another process works on it: poll its records
            self._drop(record.id)
            while record.status not in _AT_REST and time.monotonic() < until:
                await asyncio.sleep(min(_POLL_SECONDS, max(0.0, until - time.monotonic())))
                record = await runner.show(record.id)

    def _watch(
        self, runner: WorkflowRunner, run_id: str, watched: WatchedRun, handle: RunHandle
    ) -> None:
        if runner is not self._runner:  # the loop of the earlier one is closed
            self._runner, self._runs = runner, {}
        self._runs[run_id] = watched
        watched.begin(handle).add_done_callback(lambda _: self._forget(run_id, watched))

    def _forget(self, run_id: str, watched: WatchedRun) -> None:
        if self._runs.get(run_id) is watched:
            del self._runs[run_id]

    def _drop(self, run_id: str) -> None:
        if (watched := self._runs.pop(run_id, None)) is not None:
            watched.close()
