"""The store in memory, for runs that need not outlive their process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import attrs

from interpstack_workflows.errors import LeaseLost, UnknownRun, WorkflowError
from interpstack_workflows.steps.entries import Entry
from interpstack_workflows.stores.store import (
    Lease,
    Message,
    RunStatus,
    TakenRun,
    WorkflowRecord,
    WorkflowStore,
)

__all__ = ["MemoryWorkflowStore"]


class _StoredWorkflow:
    """A run, and everything of it."""

    def __init__(self, record: WorkflowRecord) -> None:
        self.record = record
        self.entries: list[Entry] = []
        self.messages: list[Message] = []
        self._token = 0
        self._lease: Lease | None = None

    @property
    def lease(self) -> Lease | None:
        """The last lease, unless it was given back."""
        return self._lease

    def put(self, record: WorkflowRecord) -> None:
        """Replace the record."""
        self.record = record

    def claim(self, owner: str, now: float, seconds: float) -> Lease | None:
        """A new lease, unless there is one."""
        if self._lease is not None and self._lease.until > now:
            return None
        self._token += 1
        self._lease = Lease(self.record.id, owner, self._token, now + seconds)
        return self._lease

    def has(self, lease: Lease) -> bool:
        """Whether a lease was neither given back nor followed by another one."""
        held = self._lease  # another run may have had the same id before
        return held is not None and (held.token, held.owner) == (lease.token, lease.owner)

    def renew(self, lease: Lease, until: float) -> bool:
        """Prolong a lease; whether it could be."""
        if self._lease is None or not self.has(lease):
            return False
        self._lease = attrs.evolve(self._lease, until=until)
        return True

    def release(self, lease: Lease) -> None:
        """End a lease."""
        if self.has(lease):
            self._lease = None


class MemoryWorkflowStore(WorkflowStore):
    """A store in memory, for one event loop.

    Args:
        clock: Returns the time for leases, in seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._stored: dict[str, _StoredWorkflow] = {}

    async def create(self, run: WorkflowRecord) -> None:
        made = _StoredWorkflow(run)
        if self._stored.setdefault(run.id, made) is not made:
            raise WorkflowError(
                f"there is a run {run.id!r} already; leave out the id to get a new one"
            )

    async def read(self, run_id: str) -> WorkflowRecord | None:
        stored = self._stored.get(run_id)
        return None if stored is None else stored.record

    async def update(self, run: WorkflowRecord, lease: Lease) -> None:
        self._held(run.id, lease).put(run)

    async def runs(
        self, status: RunStatus | None = None, limit: int = 100
    ) -> Sequence[WorkflowRecord]:
        found = [one.record for one in self._stored.values()]
        found.sort(key=lambda run: (run.created, run.id), reverse=True)
        return [run for run in found if status in (None, run.status)][:limit]

    async def entries(self, run_id: str) -> Sequence[Entry]:
        return tuple(self._known(run_id).entries)

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        stored = self._held(run_id, lease)
        if index != len(stored.entries):
            raise WorkflowError(
                f"the next entry of {run_id!r} is {len(stored.entries)}, not {index}"
            )
        stored.entries.extend(entries)

    async def send(self, run_id: str, message: Message) -> None:
        self._known(run_id).messages.append(message)

    async def messages(self, run_id: str, after: int) -> Sequence[tuple[int, Message]]:
        sent = self._known(run_id).messages
        return [(number, sent[number - 1]) for number in range(max(after, 0) + 1, len(sent) + 1)]

    async def claim(self, run_id: str, owner: str, seconds: float) -> Lease | None:
        return self._known(run_id).claim(owner, self._clock(), seconds)

    async def renew(self, lease: Lease, seconds: float) -> bool:
        stored = self._stored.get(lease.run_id)
        return stored is not None and stored.renew(lease, self._clock() + seconds)

    async def release(self, lease: Lease) -> None:
        if (stored := self._stored.get(lease.run_id)) is not None:
            stored.release(lease)

    async def take(
        self,
        run_id: str,
        owner: str,
        seconds: float,
        begin: Callable[[WorkflowRecord], WorkflowRecord],
        lapsed: Lease | None = None,
    ) -> TakenRun:
        taken = await super().take(run_id, owner, seconds, begin, lapsed)
        if taken.lease is not None or taken.record is None:
            return taken
        return attrs.evolve(taken, held=self._known(run_id).lease)

    async def delete(self, run_id: str) -> None:
        self._stored.pop(run_id, None)

    def _known(self, run_id: str) -> _StoredWorkflow:
        try:
            return self._stored[run_id]
        except KeyError:
            raise UnknownRun(
                f"there is no run {run_id!r:.200}; list the runs of the store"
            ) from None

    def _held(self, run_id: str, lease: Lease) -> _StoredWorkflow:
        stored = self._known(run_id)
        lease.check_run(run_id)
        if not stored.has(lease):
            raise LeaseLost(f"another runner has claimed the run {lease.run_id!r}")
        return stored
