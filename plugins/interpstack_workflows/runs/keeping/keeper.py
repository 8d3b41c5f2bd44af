"""Runs that a process keeps: their claims, heartbeats, rests and wake-ups."""

from __future__ import annotations

import asyncio
import secrets
import time
from functools import partial
from typing import Final

import attrs

from interpstack_workflows.errors import LeaseLost, UnknownRun, WorkflowError
from interpstack_workflows.runs.keeping.alarms import Alarms
from interpstack_workflows.runs.keeping.live_run import LiveRun
from interpstack_workflows.runs.keeping.pacing import EarlyStart, Pace, Rush, Standby
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.run_records import going_on
from interpstack_workflows.runs.values import ENDED
from interpstack_workflows.runs.verbs.isolation import remove_left
from interpstack_workflows.stores.records import WorkflowRecord
from interpstack_workflows.stores.store import Lease, TakenRun

__all__ = ["KeptRun", "RunKeeper", "Stay"]

#: Seconds between two looks at the messages of live runs, and at a lease of another runner.
_LOOK_SECONDS: Final = 0.5
#: How many times as long as a look at all live runs takes is the pause after it, at least.
_PAUSE_FACTOR: Final = 4
#: Live runs that are looked at together: the store has their records to write, too.
_LOOKS_AT_ONCE: Final = 8
#: The share of live runs that may be live before their times.
_EARLY_SHARE: Final = 0.8
#: Seconds that a store has to claim a run for a runner that is being closed.
_TAKE_SECONDS: Final = 10.0


@attrs.frozen(kw_only=True)
class Stay:
    """The beginning of a stay of a run.

    Attributes:
        reopen: Go on with a run that has failed or was cancelled.
        retry_failed: Run steps that failed again, instead of telling the script that they failed.
        patient: Wait while another runner works on the run.
    """

    reopen: bool = False
    retry_failed: bool = False
    patient: bool = True


_CLOSED: Final = "the runner was closed before run {} ended; resume the run with another runner"


class KeptRun:
    """One run that this process brings to its end.

    Args:
        run_id: Identifies the run.
        stay: How the first stay begins.
    """

    def __init__(self, run_id: str, stay: Stay) -> None:
        self.run_id = run_id
        self.stay = stay
        self.live: LiveRun | None = None
        self.task: asyncio.Task[None] | None = None
        self.again = False
        self.early: EarlyStart | None = None
        self.rested: WorkflowRecord | None = None
        self._error: BaseException | None = None
        self._waiters: list[tuple[bool, asyncio.Future[WorkflowRecord]]] = []

    @property
    def busy(self) -> bool:
        """Whether a stay of the run goes on, or waits for its turn."""
        return self.task is not None and not self.task.done()

    async def wait(self, *, to_end: bool) -> WorkflowRecord:
        """Wait until the run has ended, or also until only people can let it go on."""
        if self._error is not None:
            raise self._error
        if self.rested is not None and not (to_end and self.rested.status not in ENDED):
            return self.rested
        waiter: asyncio.Future[WorkflowRecord] = asyncio.get_running_loop().create_future()
        self._waiters.append((to_end, waiter))
        return await waiter

    def rest(self, record: WorkflowRecord) -> None:
        """Pass on how the run stands."""
        self.rested = record
        staying: list[tuple[bool, asyncio.Future[WorkflowRecord]]] = []
        for to_end, waiter in self._waiters:
            if to_end and record.status not in ENDED:
                staying.append((to_end, waiter))
            elif not waiter.done():
                waiter.set_result(record)
        self._waiters = staying

    def fail(self, error: BaseException) -> None:
        """Pass on why this process can do nothing more for the run."""
        self._error = error
        waiters, self._waiters = self._waiters, []
        for _, waiter in waiters:
            if not waiter.done():
                waiter.set_exception(error)

    def begin(self, task: asyncio.Task[None], early: EarlyStart | None) -> None:
        """A stay of the run has begun, perhaps before the run is due."""
        self.task, self.again, self.rested, self.early = task, False, None, early

    def resumed(self, stay: Stay) -> None:
        """The next stay begins in this way."""
        self.stay = stay

    def came_alive(self, live: LiveRun | None) -> None:
        """The run is live, or is no longer."""
        self.live = live
        self.stay = Stay(patient=self.stay.patient)

    def wake_later(self) -> None:
        """Begin another stay when the present one ends."""
        self.again = True


class RunKeeper:
    """Keeps runs: claims them, renews leases, rests and wakes them.

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
        self._kept: dict[str, KeptRun] = {}
        pace = Pace(parts.early_seconds, max(1, int(live_runs * _EARLY_SHARE)))
        self._pace = pace
        self._rush = Rush()
        self._alarms = Alarms(self._wake_early, pace, parts.clock)
        self._beating: asyncio.Task[None] | None = None

    def keep(self, run_id: str, stay: Stay) -> KeptRun:
        """Bring a run to its end; one that is at work here already goes on as it does."""
        kept = self._kept.get(run_id)
        if kept is None:
            kept = KeptRun(run_id, stay)
            self._kept[run_id] = kept
            self._begin(kept)
        elif kept.busy:
            self.wake(run_id)
        else:
            kept.resumed(stay)
            self._begin(kept)
        return kept

    def kept(self, run_id: str) -> KeptRun | None:
        """The run, if this process keeps it."""
        return self._kept.get(run_id)

    def wake(self, run_id: str) -> None:
        """Let a kept run look again: its time has come, or a message for it."""
        kept = self._kept.get(run_id)
        if kept is not None and kept.busy:
            kept.wake_later()
        elif kept is not None:
            self._begin(kept)

    def _wake_early(self, run_id: str, when: float) -> None:
        """Make a kept run live, which is due at a time."""
        kept = self._kept.get(run_id)
        if kept is not None and not kept.busy:
            self._begin(kept, EarlyStart(when, self._pace))
        else:
            self.wake(run_id)

    async def look(self, run_id: str) -> None:
        """Deliver the messages that came for a run, if this process keeps it."""
        kept = self._kept.get(run_id)
        if kept is not None:
            if kept.live is not None:
                await kept.live.look_for_messages()
            self.wake(run_id)

    def adopt(self, run_id: str) -> None:
        """Bring a run to its end, unless another runner works on it."""
        kept = self._kept.get(run_id)
        if kept is None:
            self.keep(run_id, Stay(patient=False))
        elif not kept.busy:
            self._begin(kept)

    def alarm(self, run_id: str, when: float) -> None:
        """Adopt a waiting run, so that it is live at a time."""
        if run_id not in self._kept:
            self._kept[run_id] = KeptRun(run_id, Stay(patient=False))
            self._alarms.set(run_id, when)

    async def aclose(self) -> None:
        """Stop all runs where they are; they can be resumed."""
        self._alarms.close()
        tasks = [kept.task for kept in self._kept.values() if kept.task is not None]
        if self._beating is not None:
            tasks.append(self._beating)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for kept in list(self._kept.values()):
            kept.fail(WorkflowError(_CLOSED.format(kept.run_id)))
        self._kept.clear()

    def _begin(self, kept: KeptRun, early: EarlyStart | None = None) -> None:
        self._alarms.clear(kept.run_id)
        kept.begin(asyncio.create_task(self._stay(kept)), early)

    async def _stay(self, kept: KeptRun) -> None:
        try:
            async with self._room:
                record = await self._claimed(kept)
        except (Exception, asyncio.CancelledError) as error:
            self._kept.pop(kept.run_id, None)
            if isinstance(error, asyncio.CancelledError):
                kept.fail(WorkflowError(_CLOSED.format(kept.run_id)))
                raise
            kept.fail(error)
            return
        finally:
            if kept.early is not None:
                kept.early.over()
        self._rest(kept, record)

    def _rest(self, kept: KeptRun, record: WorkflowRecord) -> None:
        if record.status in ENDED:
            del self._kept[kept.run_id]
            kept.rest(record)
            return
        if kept.again:
            self._begin(kept)
            return
        if record.wake_at is not None:
            self._alarms.set(kept.run_id, record.wake_at)
        if all(wait["kind"] != "sleep" for wait in record.waiting_for):
            kept.rest(record)

    async def _claimed(self, kept: KeptRun) -> WorkflowRecord:
        """One stay of a run, under a lease."""
        while True:
            taken = await self._take(kept)
            record = taken.record
            if record is None:
                raise UnknownRun(f"The store has no run {kept.run_id!r}")
            if taken.lease is not None:
                return await self._leased(kept, record, taken.lease, taken)
            if record.status in ENDED and not kept.stay.reopen:
                return record
            if not kept.stay.patient:
                raise LeaseLost(f"Another runner works on run {kept.run_id}; try again later")
            await asyncio.sleep(min(_LOOK_SECONDS, self._seconds / 3))

    async def _take(self, kept: KeptRun) -> TakenRun:
        """Claim the run; if this is cancelled meanwhile, other runners can claim it at once."""
        store, begin = self._parts.store, partial(going_on, reopen=kept.stay.reopen)
        taking = asyncio.ensure_future(store.take(kept.run_id, self._owner, self._seconds, begin))
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
        self, kept: KeptRun, record: WorkflowRecord, lease: Lease, taken: TakenRun
    ) -> WorkflowRecord:
        store = self._parts.store
        if record.status in ENDED and not kept.stay.reopen:
            await store.release(lease)
            return record
        try:
            await remove_left(self._parts, kept.run_id)
            live = LiveRun(
                *(self._parts, record, lease, taken),
                retry_failed=kept.stay.retry_failed,
                standby=Standby(self._is_soon, self._rush, kept.early),
            )
            kept.came_alive(live)
            self._beat()
            record = await live.run()
        except BaseException:
            await store.release(lease)
            raise
        finally:
            kept.came_alive(None)
        if record.status == "waiting" and await store.messages(kept.run_id, live.read):
            kept.wake_later()
        return record

    def _is_soon(self, when: float) -> bool:
        """Whether a run that is due at a time would have to be made live again at once."""
        left = when - self._parts.clock()
        return left <= self._parts.early_seconds or (
            left <= self._alarms.lead and not self._room.locked()
        )

    def _beat(self) -> None:
        if self._beating is None or self._beating.done():
            self._beating = asyncio.create_task(self._beats())

    async def _beats(self) -> None:
        """Renew the leases of live runs, and look for their messages."""
        took = 0.0
        while any(kept.live is not None for kept in self._kept.values()):
            pause = max(_LOOK_SECONDS, _PAUSE_FACTOR * took)
            await asyncio.sleep(min(pause, self._seconds / 3))
            began = time.monotonic()
            lives = [kept.live for kept in self._kept.values() if kept.live is not None]
            for first in range(0, len(lives), _LOOKS_AT_ONCE):
                some = lives[first : first + _LOOKS_AT_ONCE]
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
            await live.look_for_messages()
        except Exception:  # noqa: BLE001 - a store that is down for a moment is asked again
            if self._parts.clock() >= live.lease.until:
                live.lost()
