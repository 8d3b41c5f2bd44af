"""Supervise the active runs of a process: claims, heartbeats, suspension and wake-ups."""

from __future__ import annotations

import asyncio
import secrets
import time
from functools import partial
from typing import Final

import attrs

from interpstack_workflows.errors import LeaseLost, UnknownRun, WorkflowError
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.run_records import going_on
from interpstack_workflows.runs.supervision.alarms import Alarms
from interpstack_workflows.runs.supervision.live_run import LiveRun
from interpstack_workflows.runs.supervision.pacing import EarlyStart, Pace, Rush, Standby
from interpstack_workflows.runs.values import ENDED
from interpstack_workflows.runs.verbs.isolation import remove_left
from interpstack_workflows.stores.records import WorkflowRecord
from interpstack_workflows.stores.store import Lease, TakenRun

__all__ = ["Activation", "ActiveRun", "RunSupervisor"]

#: Seconds between two polls of the messages to live runs, and of a lease of another runner.
_POLL_SECONDS: Final = 0.5
#: The pause after polling all live runs is at least this many times as long as the poll took.
_PAUSE_FACTOR: Final = 4
#: Live runs that are polled together: the store also has their records to write.
_POLLS_AT_ONCE: Final = 8
#: The share of live runs that may be live before their times.
_EARLY_SHARE: Final = 0.8
#: Seconds that a store has to claim a run for a runner that is being closed.
_TAKE_SECONDS: Final = 10.0


@attrs.frozen(kw_only=True)
class Activation:
    """How an activation of a run begins.

    An activation is the time for which a run is live in a process, from the claim of its lease to
    its end or suspension.

    Attributes:
        reopen: Continue a run that has failed or was cancelled.
        retry_failed: Run failed steps again, instead of replaying their failures to the script.
        patient: Wait while another runner works on the run.
    """

    reopen: bool = False
    retry_failed: bool = False
    patient: bool = True


_CLOSED: Final = "the runner was closed before run {} ended; resume the run with another runner"


class ActiveRun:
    """One run that this process supervises until it ends.

    Args:
        run_id: Identifies the run.
        activation: How the first activation begins.
    """

    def __init__(self, run_id: str, activation: Activation) -> None:
        self.run_id = run_id
        self.activation = activation
        self.live: LiveRun | None = None
        self.task: asyncio.Task[None] | None = None
        self.again = False
        self.early: EarlyStart | None = None
        self.rested: WorkflowRecord | None = None
        self._error: BaseException | None = None
        self._waiters: list[tuple[bool, asyncio.Future[WorkflowRecord]]] = []

    @property
    def busy(self) -> bool:
        """Whether an activation of the run is in progress, or waits for its turn."""
        return self.task is not None and not self.task.done()

    async def wait(self, *, to_end: bool) -> WorkflowRecord:
        """Wait until the run has ended or, without `to_end`, until it needs people to continue."""
        if self._error is not None:
            raise self._error
        if self.rested is not None and not (to_end and self.rested.status not in ENDED):
            return self.rested
        waiter: asyncio.Future[WorkflowRecord] = asyncio.get_running_loop().create_future()
        self._waiters.append((to_end, waiter))
        return await waiter

    def rest(self, record: WorkflowRecord) -> None:
        """Give the record of the suspended or ended run to those who wait for it."""
        self.rested = record
        remaining: list[tuple[bool, asyncio.Future[WorkflowRecord]]] = []
        for to_end, waiter in self._waiters:
            if to_end and record.status not in ENDED:
                remaining.append((to_end, waiter))
            elif not waiter.done():
                waiter.set_result(record)
        self._waiters = remaining

    def fail(self, error: BaseException) -> None:
        """Raise in all waiters why this process can do nothing more for the run."""
        self._error = error
        waiters, self._waiters = self._waiters, []
        for _, waiter in waiters:
            if not waiter.done():
                waiter.set_exception(error)

    def begin(self, task: asyncio.Task[None], early: EarlyStart | None) -> None:
        """Note that an activation of the run has begun, perhaps before the run is due."""
        self.task, self.again, self.rested, self.early = task, False, None, early

    def activate_next(self, activation: Activation) -> None:
        """Set how the next activation begins."""
        self.activation = activation

    def set_live(self, live: LiveRun | None) -> None:
        """Note that the run is live, or is no longer."""
        self.live = live
        self.activation = Activation(patient=self.activation.patient)

    def wake_later(self) -> None:
        """Begin another activation when the present one ends."""
        self.again = True


class RunSupervisor:
    """Supervise runs: claim them, renew their leases, suspend and wake them.

    Args:
        parts: What all runs share.
        lease_seconds: How long a lease lasts without a heartbeat.
        live_runs: Runs that may be live at once; the others wait for their turn.
    """

    def __init__(self, parts: RunParts, lease_seconds: float, live_runs: int) -> None:
        self._parts = parts
        self._seconds = lease_seconds
        self._room = asyncio.Semaphore(live_runs)
        self._owner = f"runner_{secrets.token_hex(8)}"
        self._runs: dict[str, ActiveRun] = {}
        pace = Pace(parts.early_seconds, max(1, int(live_runs * _EARLY_SHARE)))
        self._pace = pace
        self._rush = Rush()
        self._alarms = Alarms(self._wake_early, pace, parts.clock)
        self._beating: asyncio.Task[None] | None = None

    def supervise(self, run_id: str, activation: Activation) -> ActiveRun:
        """Supervise a run until it ends; an activation that is under way here continues."""
        run = self._runs.get(run_id)
        if run is None:
            run = ActiveRun(run_id, activation)
            self._runs[run_id] = run
            self._begin(run)
        elif run.busy:
            self.wake(run_id)
        else:
            run.activate_next(activation)
            self._begin(run)
        return run

    def active_run(self, run_id: str) -> ActiveRun | None:
        """Return the run, if this process supervises it."""
        return self._runs.get(run_id)

    def wake(self, run_id: str) -> None:
        """Activate a supervised run again: its time has come, or it has a message."""
        run = self._runs.get(run_id)
        if run is not None and run.busy:
            run.wake_later()
        elif run is not None:
            self._begin(run)

    def _wake_early(self, run_id: str, when: float) -> None:
        """Make a supervised run live before the time at which it is due."""
        run = self._runs.get(run_id)
        if run is not None and not run.busy:
            self._begin(run, EarlyStart(when, self._pace))
        else:
            self.wake(run_id)

    async def poll(self, run_id: str) -> None:
        """Deliver new messages to a run, if this process supervises it."""
        run = self._runs.get(run_id)
        if run is not None:
            if run.live is not None:
                await run.live.poll_messages()
            self.wake(run_id)

    def adopt(self, run_id: str) -> None:
        """Supervise a run until it ends, unless another runner works on it."""
        run = self._runs.get(run_id)
        if run is None:
            self.supervise(run_id, Activation(patient=False))
        elif not run.busy:
            self._begin(run)

    def alarm(self, run_id: str, when: float) -> None:
        """Adopt a waiting run, so that it is live at a time."""
        if run_id not in self._runs:
            self._runs[run_id] = ActiveRun(run_id, Activation(patient=False))
            self._alarms.set(run_id, when)

    async def aclose(self) -> None:
        """Stop all runs where they are; they can be resumed."""
        self._alarms.close()
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        if self._beating is not None:
            tasks.append(self._beating)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for run in list(self._runs.values()):
            run.fail(WorkflowError(_CLOSED.format(run.run_id)))
        self._runs.clear()

    def _begin(self, run: ActiveRun, early: EarlyStart | None = None) -> None:
        self._alarms.clear(run.run_id)
        run.begin(asyncio.create_task(self._activate(run)), early)

    async def _activate(self, run: ActiveRun) -> None:
        try:
            async with self._room:
                record = await self._claimed(run)
        except (Exception, asyncio.CancelledError) as error:
            self._runs.pop(run.run_id, None)
            if isinstance(error, asyncio.CancelledError):
                run.fail(WorkflowError(_CLOSED.format(run.run_id)))
                raise
            run.fail(error)
            self._parts.hub.end(run.run_id)
            return
        finally:
            if run.early is not None:
                run.early.over()
        self._rest(run, record)

    def _rest(self, run: ActiveRun, record: WorkflowRecord) -> None:
        if record.status in ENDED:
            del self._runs[run.run_id]
            run.rest(record)
            self._parts.hub.end(run.run_id)  # also of one that had ended before: nothing ran
            return
        if run.again:
            self._begin(run)
            return
        if record.wake_at is not None:
            self._alarms.set(run.run_id, record.wake_at)
        if all(wait["kind"] != "sleep" for wait in record.waiting_for):
            run.rest(record)

    async def _claimed(self, run: ActiveRun) -> WorkflowRecord:
        """Run one activation under a lease."""
        while True:
            taken = await self._take(run)
            record = taken.record
            if record is None:
                raise UnknownRun(f"The store has no run {run.run_id!r}")
            if taken.lease is not None:
                return await self._leased(run, record, taken.lease, taken)
            if record.status in ENDED and not run.activation.reopen:
                return record
            if not run.activation.patient:
                raise LeaseLost(f"Another runner works on run {run.run_id}; try again later")
            await asyncio.sleep(min(_POLL_SECONDS, self._seconds / 3))

    async def _take(self, run: ActiveRun) -> TakenRun:
        """Claim the run; after a cancellation, other runners can claim it at once."""
        store, begin = self._parts.store, partial(going_on, reopen=run.activation.reopen)
        taking = asyncio.ensure_future(store.take(run.run_id, self._owner, self._seconds, begin))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            await asyncio.wait({taking}, timeout=_TAKE_SECONDS)
            if taking.done() and taking.exception() is None:
                lease = taking.result().lease
                if lease is not None:
                    await store.release(lease)
            raise

    async def _leased(
        self, run: ActiveRun, record: WorkflowRecord, lease: Lease, taken: TakenRun
    ) -> WorkflowRecord:
        store = self._parts.store
        if record.status in ENDED and not run.activation.reopen:
            await store.release(lease)
            return record
        try:
            await remove_left(self._parts, run.run_id)
            live = LiveRun(
                *(self._parts, record, lease, taken),
                retry_failed=run.activation.retry_failed,
                standby=Standby(self._is_soon, self._rush, run.early),
            )
            run.set_live(live)
            self._beat()
            record = await live.run()
        except BaseException:
            await store.release(lease)
            raise
        finally:
            run.set_live(None)
        if record.status == "waiting" and await store.messages(run.run_id, live.read):
            run.wake_later()
        return record

    def _is_soon(self, when: float) -> bool:
        """Return whether a run that is due at a time would have to be made live again at once."""
        left = when - self._parts.clock()
        return left <= self._parts.early_seconds or (
            left <= self._alarms.lead and not self._room.locked()
        )

    def _beat(self) -> None:
        if self._beating is None or self._beating.done():
            self._beating = asyncio.create_task(self._beats())

    async def _beats(self) -> None:
        """Renew the leases of live runs, and poll their messages."""
        took = 0.0
        while any(run.live is not None for run in self._runs.values()):
            pause = max(_POLL_SECONDS, _PAUSE_FACTOR * took)
            await asyncio.sleep(min(pause, self._seconds / 3))
            began = time.monotonic()
            lives = [run.live for run in self._runs.values() if run.live is not None]
            for first in range(0, len(lives), _POLLS_AT_ONCE):
                some = lives[first : first + _POLLS_AT_ONCE]
                await asyncio.gather(*(self._tend(live) for live in some))
            took = time.monotonic() - began

    async def _tend(self, live: LiveRun) -> None:
        try:
            now = self._parts.clock()
            if live.lease.until - now < self._seconds * 2 / 3:
                renewed = await self._parts.store.renew(live.lease)
                if renewed is None:
                    live.lost()
                else:
                    live.renewed(renewed)
            await live.poll_messages()
        except Exception:  # noqa: BLE001 - a store that is down for a moment is asked again
            if self._parts.clock() >= live.lease.until:
                live.lost()
