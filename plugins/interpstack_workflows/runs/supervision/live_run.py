"""Run one activation of a run: its scopes, records, waits and end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import attrs

from interpstack_workflows.budgets.budget import RunBudget
from interpstack_workflows.errors import LeaseLost
from interpstack_workflows.runs.emitting import RunEmitter
from interpstack_workflows.runs.failures import ScopeFailed, described
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.run_budgets import spent_budget
from interpstack_workflows.runs.run_records import ROOT, root_place
from interpstack_workflows.runs.scopes.crossing import module_input
from interpstack_workflows.runs.scopes.identities import MESSAGE_KINDS
from interpstack_workflows.runs.scopes.replaying import RecordedAnswers, RecordedScopes
from interpstack_workflows.runs.scopes.scope import Cancellable, OpenRequest, ScopeEnd, ScopeLoop
from interpstack_workflows.runs.supervision.pacing import Standby
from interpstack_workflows.runs.supervision.recording import RecordWriter
from interpstack_workflows.runs.values import ScopePlace
from interpstack_workflows.runs.verbs.effects import Verbs
from interpstack_workflows.runs.verbs.waits import Wait, Waits
from interpstack_workflows.runtime.boundary import (
    FailedResolution,
    LogCall,
    PhaseCall,
)
from interpstack_workflows.runtime.runtime import ModuleExecution
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.stores.records import Message, WorkflowRecord
from interpstack_workflows.stores.store import Lease, TakenRun

__all__ = ["LiveRun"]

_log: Final = logging.getLogger("interpstack.workflows")
_CANCELLED: Final = FailedResolution("workflow cancelled", "WorkflowCancelled", escapes=True)
_OUT_OF_TIME: Final = FailedResolution(
    "the run's wall time is used up", "WorkflowTimeout", escapes=True
)
#: Seconds that cancelled effects have to stop.
_STOP_SECONDS: Final = 10.0
#: Seconds after which the clock is compared again: a machine may sleep, or its clock be set.
_RECHECK_SECONDS: Final = 30.0


class LiveRun:
    """One activation of a run: from the claim of its lease to its end or suspension.

    Args:
        parts: What all runs of a runner share.
        record: The run as its store has it.
        lease: The runner's lease of the run.
        taken: The entries of the run, and the messages to it.
        retry_failed: Whether steps that failed are to run again.
        standby: Decides when the run may be suspended; it is notified when only waits are left.
    """

    def __init__(
        self,
        parts: RunParts,
        record: WorkflowRecord,
        lease: Lease,
        taken: TakenRun,
        *,
        retry_failed: bool = False,
        standby: Standby,
    ) -> None:
        self._parts = parts
        self._record = record
        entries = taken.entries
        self._lease = lease
        self._standby = standby
        self._writer = RecordWriter(parts.store, lease, len(entries), self._lost)
        self._recorded = RecordedScopes(entries, retry_failed=retry_failed)
        self._budget = spent_budget(record, entries)
        self.waits = Waits(_used_messages(entries))
        self._verbs = Verbs(self, parts, record.id)
        self._scopes: set[ScopeLoop] = set()
        self.emitter = RunEmitter(parts, record)
        for entry in entries:
            self.emitter.began(entry.scope, entry.settled)
        self._in_flight, self._suspending, self._complete = 0, False, False
        self._ending: FailedResolution | None = None
        self._main: asyncio.Task[ScopeEnd] | None = None
        self._alarm = _Alarm(parts, self._wake)
        self._sent = taken.messages
        self._read = 0
        self._lease_lost: LeaseLost | None = None

    async def run(self) -> WorkflowRecord:
        """Run until the end, or until the run is suspended because it only waits.

        Returns:
            The record as it was stored.

        Raises:
            LeaseLost: Another runner works on the run now; nothing more was done.
        """
        self._deliver(self._sent)
        self._wake()
        place, began = root_place(self._record), self._record.created
        self._main = asyncio.create_task(self.run_scope(place, began))
        try:
            await asyncio.wait({self._main})
        finally:
            self._standby.continued()
            await _stopped([self._main])
            self._alarm.set(None)
            await self._writer.ended(_STOP_SECONDS)  # also of a run that is stopped
        await self._writer.safe()
        if self._lease_lost is not None:
            raise self._lease_lost
        await self._standby.others_first()
        return await self._finished(self._main)

    async def run_scope(self, place: ScopePlace, now: float) -> ScopeEnd:
        """Run one scope to its end; see `ScopeLoop.run`."""
        self.emitter.started(place, again=self._recorded.has(place.scope))
        self._budget.met(place.names[1:])
        self._scopes.add(loop := ScopeLoop(self, place, now))
        try:
            end = await loop.run()
        except ScopeFailed as error:
            self.emitter.child_failed(place, error)
            raise
        else:
            self.emitter.child_completed(place, end.result, self._budget.used)
            return end
        finally:
            self._scopes.discard(loop)
            if not self._suspending:
                self.waits.close_scope(place.scope)

    def finish_early(self, error: FailedResolution) -> None:
        """Refuse all requests from now on, so that the run comes to its end."""
        ended = self._main is not None and self._main.done()
        if self._ending is None and not ended and not self._complete:
            self._ending = error
            for scope in list(self._scopes):
                scope.wake()

    @property
    def lease(self) -> Lease:
        return self._lease

    @property
    def read(self) -> int:
        """The number of the last message that was read."""
        return self._read

    def renewed(self, lease: Lease) -> None:
        """Replace the lease by its renewal."""
        self._lease = lease

    def lost(self) -> None:
        """Stop at once: another runner has the lease."""
        self._lease_lost = lease_lost(self._record.id)
        self._lost()

    async def poll_messages(self) -> None:
        """Read the messages that arrived since the last poll, and deliver them."""
        self._deliver(await self._parts.store.messages(self._record.id, self._read))

    def _deliver(self, found: Sequence[tuple[int, Message]]) -> None:
        if not found or self._suspending:  # a suspended run polls again when it wakes
            return
        self._read = found[-1][0]
        seen = self._record.options.get("messages_read", 0)
        for number, message in found:
            if message.kind == "cancel" and number > seen:
                self.finish_early(_CANCELLED)
        self.waits.take([pair for pair in found if pair[1].kind in ("signal", "answer")])
        self._alarm.set(self._wake_at())

    # --- What the scopes need.

    @property
    def ending(self) -> FailedResolution | None:
        return self._ending

    def begin(self) -> None:
        self._in_flight += 1

    def end(self) -> None:
        self._in_flight -= 1
        if not self._in_flight and self.waits and self._ending is None:
            self._standby.ready()
            asyncio.get_running_loop().call_later(self._parts.linger_seconds, self._suspend_if_idle)

    def answers(self, place: ScopePlace) -> RecordedAnswers:
        return self._recorded.open(place.scope)

    async def open_module(self, place: ScopePlace) -> ModuleExecution:
        given = module_input(place, self._record.seed, self._budget.total, self._parts.modules)
        return await self._parts.runtime.open_module(given)

    async def before_effects(self) -> None:
        await self._writer.safe()
        if self._parts.clock() >= self._lease.until:  # the machine slept, or the store is down
            self.lost()
            raise lease_lost(self._record.id)

    def start(self, opened: OpenRequest) -> Cancellable | None:
        self._standby.continued()
        return self._verbs.start(opened)

    def completed(self, place: ScopePlace) -> None:
        if place.scope == ROOT:
            self._complete = True

    async def before_close(self, place: ScopePlace) -> None:
        if place.scope == ROOT:
            await self._standby.others_first()

    async def stop(self, effects: Sequence[Cancellable]) -> None:
        for effect in effects:
            effect.cancel()
        await _stopped([one for one in effects if isinstance(one, asyncio.Task)])

    def record(self, place: ScopePlace, now: float, steps: Sequence[StepRecord]) -> Any:
        budget = {"total": self._budget.total, "spent": self._budget.spent}
        self.emitter.began(place.scope, steps)
        self._writer.write(Entry(scope=place.scope, now=now, settled=tuple(steps), budget=budget))
        return budget

    def now(self) -> float:
        return self._parts.clock()

    def script_called(self, place: ScopePlace, call: LogCall | PhaseCall) -> None:
        self.emitter.called(place, call)
        if isinstance(call, PhaseCall):
            self._budget.met((call.name,))

    def ended(self, opened: OpenRequest, step: StepRecord, *, replayed: bool) -> None:
        self.emitter.step_ended(opened, step, replayed=replayed)
        if replayed and step.kind == "workflow":
            self._recorded.answered(opened.scope.place.child(opened.name))

    # --- What the verbs need.

    @property
    def budget(self) -> RunBudget:
        return self._budget

    def open_wait(self, opened: OpenRequest, wait: Wait) -> None:
        """Begin a wait."""
        self.emitter.waits(opened, wait)
        self.waits.open(wait)
        self._alarm.set(self._wake_at())

    def _wake_at(self) -> float | None:
        """Return when a wait ends by itself, or when the run's time is up."""
        times = (self.waits.wake_at, self._record.options.get("deadline"))
        return min((one for one in times if one is not None), default=None)

    def _wake(self) -> None:
        if self._suspending:
            return
        deadline = self._record.options.get("deadline")
        if deadline is not None and self._parts.clock() >= deadline:
            self.finish_early(_OUT_OF_TIME)
        for wait in self.waits.expired(self._parts.clock()):
            self._standby.due()
            wait.ended(0, None)
        self._alarm.set(self._wake_at())

    def _suspend_if_idle(self) -> None:
        if self._in_flight or not self.waits or self._ending is not None or self._main is None:
            return
        when = self._wake_at()
        if when is not None and self._standby.lasts_until(when):
            return
        self._suspending = True
        self._main.cancel()

    def _lost(self) -> None:
        """Stop the run after a failed write or a lost lease; nothing may begin any more."""
        if self._main is not None:
            self._main.cancel()

    async def _finished(self, main: asyncio.Task[ScopeEnd]) -> WorkflowRecord:
        """Store the state of the run, now that its scopes have ended."""
        if main.cancelled() and not self._suspending:
            raise asyncio.CancelledError
        fields = _standing(main, self._ending)
        earlier = self._recorded.undelivered(early=self._ending is not None)
        self.emitter.counted(_dropped(main), earlier)
        if main.cancelled():
            fields |= {"wake_at": self._wake_at(), "waiting_for": self.waits.to_json()}
        unused = self._budget.unused if fields["status"] == "completed" else []
        if unused:
            _log.warning(
                "run %s has ended, and these budgets limited nothing, because no phase or child "
                "has their names: %s; check the spelling",
                self._record.id,
                ", ".join(map(repr, unused)),
            )
        self._record = attrs.evolve(
            self._record,
            **fields,
            options={**self._record.options, "messages_read": self._read},
            usage=self._budget.used.to_json(),
            census={
                **self.emitter.census(),
                **({"unused_budgets": unused} if unused else {}),
            },
            updated=self._parts.clock(),
        )
        await self._parts.store.leave(self._record, self._lease)
        self.emitter.run_ended(self._record, ROOT)
        return self._record


class _Alarm:
    """Call back at a time of the wall clock, or before it, to be set again.

    Args:
        parts: Has the clock.
        ring: Called back.
    """

    def __init__(self, parts: RunParts, ring: Callable[[], None]) -> None:
        self._parts = parts
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None

    def set(self, when: float | None) -> None:
        """Call back at this time, and not at an earlier set one; `None` for never."""
        if self._timer is not None:
            self._timer.cancel()
        if when is not None:
            left = min(max(0.0, when - self._parts.clock()), _RECHECK_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(left, self._ring)


def _dropped(main: asyncio.Task[ScopeEnd]) -> int:
    """Count the failures that the root turned into null; 0 if it has not ended."""
    return 0 if main.cancelled() or main.exception() is not None else main.result().dropped


def _standing(main: asyncio.Task[ScopeEnd], ending: FailedResolution | None) -> dict[str, Any]:
    """Return status, result and error of a run whose root has ended or was suspended."""
    fields: dict[str, Any] = {"wake_at": None, "waiting_for": (), "result": None, "error": None}
    raised = None if main.cancelled() else main.exception()
    if ending is not None:
        status = "cancelled" if ending.name == "WorkflowCancelled" else "failed"
        error = {"name": ending.name, "message": ending.message}
        return {**fields, "status": status, "error": error}
    if main.cancelled():
        return {**fields, "status": "waiting"}
    if raised is None:
        return {**fields, "status": "completed", "result": main.result().result}
    error = raised.to_json() if isinstance(raised, ScopeFailed) else described(raised)
    return {**fields, "status": "failed", "error": error}


async def _stopped(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended; not for ever, for one may refuse."""
    going = {task for task in tasks if not task.done()}
    for task in going:
        task.cancel()
    if going:
        await asyncio.wait(going, timeout=_STOP_SECONDS)


def _used_messages(entries: Iterable[Entry]) -> set[int]:
    """Return the numbers of the messages that recorded steps have consumed."""
    return {
        step.value["message"]
        for entry in entries
        for step in entry.settled
        if step.kind in MESSAGE_KINDS and isinstance(step.value, dict) and "message" in step.value
    }


def lease_lost(run_id: str) -> LeaseLost:
    """Make the error of a runner whose run another runner has taken over."""
    return LeaseLost(
        f"Another runner works on run {run_id} now, because the lease of this runner has lapsed;"
        " nothing more was recorded here. Wait for the result of the other runner:"
        " resume(run_id)"
    )
