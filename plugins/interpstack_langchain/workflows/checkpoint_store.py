"""Runs of workflows in a checkpointer of LangGraph.

A run is a thread of its own with three namespaces, each of one checkpoint: the record of the run,
its entries, and its leases with the messages to it. The record is put again when it changes. All
else are writes of tasks, which checkpointers store once: of two writes under one name the first one
stays, which decides who makes a run, who gets a lease, and the next number of a message.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import attrs
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

from interpstack_langchain.workflows.checkpoints import (
    ENTRIES,
    LATEST,
    RUN,
    TURNS,
    WRITES,
    CheckpointsOfRuns,
    run_of_thread,
    thread_of,
    use_of_saver,
)
from interpstack_langchain.workflows.stored_writes import (
    CREATION,
    claims,
    creation_of,
    is_held,
    lease_of,
    messages_of,
    read_json,
    sent_messages,
    stored_entries,
)
from interpstack_workflows.api import (
    Entry,
    Lease,
    LeaseLost,
    Message,
    TakenRun,
    WorkflowError,
    WorkflowRecord,
    damaged_run,
    entry_to_json,
    run_from_json,
    run_to_json,
)

__all__ = ["CheckpointWorkflowStore"]

_T = TypeVar("_T")

_log: Final = logging.getLogger(__name__)
_MARK: Final = "interpstack_workflow"
_to_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class CheckpointWorkflowStore(CheckpointsOfRuns):
    """A store over any checkpointer, sync or async, which the caller closes.

    Args:
        saver: The checkpointer, whose tables exist.
        clock: Returns the time for leases, in seconds since 1970. The clocks of different machines
            may differ: a runner also watches a lease for its whole length before it takes the run
            over.

    Raises:
        ConfigurationError: The object is not a checkpointer.
    """

    def __init__(
        self, saver: BaseCheckpointSaver[Any], clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(saver)
        self._clock = clock
        #: Of each lease: its end after it was prolonged, and the place of its next entry.
        self._until: dict[tuple[str, int], float] = {}
        self._next: dict[tuple[str, int], int] = {}

    # -- runs ------------------------------------------------------------------------------

    async def create(self, run: WorkflowRecord) -> None:
        await self._together(lambda: self._create(run))

    async def _create(self, run: WorkflowRecord) -> None:
        if await self._read(run.id) is not None:
            raise _exists(run.id)
        for namespace in (ENTRIES, TURNS):
            await self._put(run.id, namespace, namespace, "", {})
        # The run exists from this write on. A checkpoint could not decide who makes it: checkpoints
        # replace each other.
        mine = secrets.token_hex(8)
        making = _to_json({"by": mine, "run": run_to_json(run)})
        await self._write(run.id, TURNS, [(WRITES, making)], CREATION)
        made = creation_of(run.id, await self._known(run.id, TURNS))
        if made is None or made["by"] != mine:
            raise _exists(run.id)
        await self._put_run(run)

    async def read(self, run_id: str) -> WorkflowRecord | None:
        return await self._together(lambda: self._read(run_id))

    async def _read(self, run_id: str) -> WorkflowRecord | None:
        found = await self._get(run_id, RUN)
        if found is not None:
            return _run_of(found, run_id)
        # Its maker may have stopped before the record was put.
        turns = await self._get(run_id, TURNS)
        made = None if turns is None else creation_of(run_id, turns)
        return None if made is None else run_from_json(made["run"], run_id)

    async def update(self, run: WorkflowRecord, lease: Lease) -> None:
        await self._together(lambda: self._update(run, lease))

    async def _update(self, run: WorkflowRecord, lease: Lease) -> None:
        lease.check_run(run.id)
        await self._check(lease)
        await self._put_run(run)

    async def runs(self, status: str | None = None, limit: int = 100) -> Sequence[WorkflowRecord]:
        wanted = {_MARK: "run"} if status is None else {_MARK: "run", "status": status}
        # In memory, threads come in no order.
        most = None if isinstance(self._saver, InMemorySaver) else limit
        saver = self._saver
        with use_of_saver("listed"):
            if self._is_async:
                listed = [one async for one in saver.alist(None, filter=wanted, limit=most)]
            else:
                listed = await self._call(lambda: [*saver.list(None, filter=wanted, limit=most)])
        found = _runs_of(listed)
        return sorted(found, key=lambda run: (run.created, run.id), reverse=True)[:limit]

    async def delete(self, run_id: str) -> None:
        thread, saver = thread_of(run_id), self._saver
        with suppress(WorkflowError):  # a damaged run is deleted, too
            if await self.read(run_id) is None:
                return
        with use_of_saver("deleted"):
            if self._is_async:
                await saver.adelete_thread(thread)
            else:
                await self._call(lambda: saver.delete_thread(thread))

    async def _put_run(self, run: WorkflowRecord) -> None:
        text = _to_json(run_to_json(run))
        # Lists of runs have the order of these ids.
        moment = f"{int(run.created * 1e6):020d}"
        await self._put(run.id, RUN, moment, text, {_MARK: "run", "status": run.status})

    # -- entries ---------------------------------------------------------------------------

    async def entries(self, run_id: str) -> Sequence[Entry]:
        found = await self._known(run_id, ENTRIES)
        return [entry for _, entry in stored_entries(run_id, found)]

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        lease.check_run(run_id)
        if not self._is_valid(lease):
            await self._check(lease)
        if (following := self._following(lease, index)) != index:
            raise WorkflowError(f"the next entry of {run_id!r} is {following}, not {index}")
        task, writes = _entry_writes(index, entries, lease)
        await self._write(run_id, ENTRIES, writes, task)
        self._appended(lease, index + len(entries))

    def append_now(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> bool:
        is_next = run_id == lease.run_id and self._following(lease, index) == index
        if not is_next or not self._is_valid(lease):
            return False
        task, writes = _entry_writes(index, entries, lease)
        stored = self._write_now(run_id, ENTRIES, writes, task)
        if stored:
            self._appended(lease, index + len(entries))
        return stored

    def _is_valid(self, lease: Lease) -> bool:
        """Whether a lease lasts still, so that nobody else has claimed its run."""
        return self._clock() < self._until.get((lease.run_id, lease.token), lease.until)

    def _following(self, lease: Lease, index: int) -> int:
        """The place of the next entry under a lease: the one that is named, for the first."""
        return self._next.get((lease.run_id, lease.token), index)

    def _appended(self, lease: Lease, following: int) -> None:
        self._next[lease.run_id, lease.token] = following

    # -- leases ----------------------------------------------------------------------------

    async def claim(self, run_id: str, owner: str, seconds: float) -> Lease | None:
        found = await self._together(lambda: self._claim(run_id, owner, seconds, _any_lease))
        return found[0]

    async def _claim(
        self, run_id: str, owner: str, seconds: float, may_follow: Callable[[Lease], bool]
    ) -> tuple[Lease | None, CheckpointTuple]:
        """The lease, and the turns of the run as they are then.

        Args:
            run_id: The run.
            owner: The runner.
            seconds: How long the lease lasts.
            may_follow: Whether a lease that has ended, and was not given back, is to be followed.
        """
        turns = await self._known(run_id, TURNS)
        held, now = lease_of(run_id, turns), self._clock()
        if held is not None and (held.until > now or (held.until and not may_follow(held))):
            return None, turns
        lease = Lease(run_id, owner, (held.token if held else 0) + 1, now + seconds, seconds)
        mine = secrets.token_hex(8)
        claim = _to_json({"owner": owner, "until": lease.until, "by": mine, "seconds": seconds})
        await self._write(run_id, TURNS, [(WRITES, claim)], f"claim-{lease.token:08d}")
        turns = await self._known(run_id, TURNS)
        is_mine = dict(claims(run_id, turns))[lease.token]["by"] == mine
        return lease if is_mine else None, turns

    async def renew(self, lease: Lease, seconds: float) -> bool:
        return await self._together(lambda: self._prolong(lease, self._clock() + seconds))

    async def release(self, lease: Lease) -> None:
        await self._together(lambda: self._release(lease))

    async def _release(self, lease: Lease) -> None:
        await self._prolong(lease, 0.0)
        self._forget(lease)

    def _forget(self, lease: Lease) -> None:
        for remembered in (self._until, self._next):
            remembered.pop((lease.run_id, lease.token), None)

    async def take(
        self,
        run_id: str,
        owner: str,
        seconds: float,
        begin: Callable[[WorkflowRecord], WorkflowRecord],
        lapsed: Lease | None = None,
    ) -> TakenRun:
        return await self._together(lambda: self._take(run_id, owner, seconds, begin, lapsed))

    async def _take(
        self,
        run_id: str,
        owner: str,
        seconds: float,
        begin: Callable[[WorkflowRecord], WorkflowRecord],
        lapsed: Lease | None,
    ) -> TakenRun:
        lease, turns = await self._claim(
            run_id, owner, seconds, lambda held: held == lapsed or held.owner == owner
        )
        record = await self._read(run_id)
        if lease is None:
            return TakenRun(record=record, held=lease_of(run_id, turns))
        try:
            found = await self._known(run_id, ENTRIES)
            entries = [entry for _, entry in stored_entries(run_id, found, lease.token)]
            messages = sent_messages(run_id, turns, 0)
            begun = record if record is None else begin(record)
            if begun is not None and begun is not record:
                await self._put_run(begun)
        except BaseException:
            await self._release(lease)
            raise
        return TakenRun(record=begun, lease=lease, entries=entries, messages=messages)

    async def leave(self, run: WorkflowRecord, lease: Lease) -> None:
        await self._together(lambda: self._leave(run, lease))

    async def _leave(self, run: WorkflowRecord, lease: Lease) -> None:
        await self._update(run, lease)
        await self._until_then(lease, 0.0)
        self._forget(lease)

    async def _prolong(self, lease: Lease, until: float) -> bool:
        found = await self._get(lease.run_id, TURNS)
        held = None if found is None else lease_of(lease.run_id, found)
        if held is None or not is_held(held, lease):
            return False
        await self._until_then(lease, until)
        return True

    async def _until_then(self, lease: Lease, until: float) -> None:
        writes = [(LATEST, _to_json({"until": until}))]
        await self._write(lease.run_id, TURNS, writes, f"until-{lease.token:08d}")
        self._until[lease.run_id, lease.token] = until

    async def _check(self, lease: Lease) -> None:
        held = lease_of(lease.run_id, await self._known(lease.run_id, TURNS))
        if held is None or not is_held(held, lease):
            raise LeaseLost(f"another runner has claimed the run {lease.run_id!r}")

    # -- messages --------------------------------------------------------------------------

    async def send(self, run_id: str, message: Message) -> None:
        await self._together(lambda: self._send(run_id, message))

    async def _send(self, run_id: str, message: Message) -> None:
        mine = secrets.token_hex(8)
        text = _to_json({"message": attrs.asdict(message), "by": mine})
        sent = dict(messages_of(run_id, await self._known(run_id, TURNS)))
        while True:
            number = max(sent, default=0) + 1
            await self._write(run_id, TURNS, [(WRITES, text)], f"message-{number:08d}")
            sent = dict(messages_of(run_id, await self._known(run_id, TURNS)))
            if sent[number]["by"] == mine:
                return

    async def messages(self, run_id: str, after: int) -> Sequence[tuple[int, Message]]:
        return sent_messages(run_id, await self._known(run_id, TURNS), after)


def _exists(run_id: str) -> WorkflowError:
    return WorkflowError(f"there is a run {run_id!r} already; leave out the id to get a new one")


def _any_lease(held: Lease) -> bool:
    return True


def _entry_writes(
    index: int, entries: Sequence[Entry], lease: Lease
) -> tuple[str, list[tuple[str, Any]]]:
    """The task of some entries, and its writes."""
    writes = [(WRITES, _to_json(entry_to_json(entry))) for entry in entries]
    return f"{index:010d}-{lease.token:08d}", writes


def _run_of(found: CheckpointTuple, run_id: str) -> WorkflowRecord:
    """The run of a checkpoint.

    Raises:
        WorkflowError: It is damaged, or of a newer release.
    """
    try:
        text = found.checkpoint["channel_values"][WRITES]
    except (KeyError, TypeError, IndexError) as error:
        raise damaged_run(run_id, "its checkpoint is malformed") from error
    return run_from_json(read_json(run_id, text), run_id)


def _runs_of(listed: Sequence[CheckpointTuple]) -> list[WorkflowRecord]:
    """The runs that can be used; the others are named in the log, and do not hide them."""
    found = []
    for one in listed:
        try:
            found.append(_run_of(one, run_of_thread(one.config["configurable"]["thread_id"])))
        except WorkflowError as error:
            _log.warning("%s", error)
    return found
