"""Runs of workflows in a checkpointer of LangGraph.

A run is a thread of its own with three namespaces, each of one checkpoint: the record of the run,
its entries, and its leases with the messages to it. The record is put again when it changes. All
else are writes of tasks, which checkpointers store once: of two writes under one name the first one
stays, which decides who gets a lease or the next number of a message.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import RESUME

from interpstack import ConfigurationError, call_blocking
from interpstack_workflows.api import (
    Entry,
    Lease,
    LeaseLost,
    Message,
    RunRecord,
    UnknownRun,
    WorkflowError,
    WorkflowStore,
    entry_from_json,
    entry_to_json,
)

__all__ = ["CheckpointWorkflowStore"]

_T = TypeVar("_T")

_RUN, _ENTRIES, _TURNS = "", "workflow_entries", "workflow_turns"
_MARK: Final = "interpstack_workflow"
#: A channel of tasks' writes, and one whose writes replace each other.
_WRITES, _LATEST = "workflow", RESUME
_FIELDS: Final = tuple(field.name for field in attrs.fields(RunRecord))
_to_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class CheckpointWorkflowStore(WorkflowStore):
    """A store over any checkpointer, sync or async, which stays the caller's.

    Args:
        saver: The checkpointer, set up.
        clock: Gives the time of leases, in seconds since 1970; runners of different machines need
            clocks that agree within a fraction of their leases.

    Raises:
        ConfigurationError: It is no checkpointer.
    """

    def __init__(
        self, saver: BaseCheckpointSaver[Any], clock: Callable[[], float] = time.time
    ) -> None:
        if not isinstance(saver, BaseCheckpointSaver):
            raise ConfigurationError(
                "CheckpointWorkflowStore takes a checkpointer, such as SqliteSaver; "
                f"got {saver!r:.80}"
            )
        self._saver = saver
        self._clock = clock
        #: Of each lease: its end after it was prolonged, and the place of its next entry.
        self._until: dict[tuple[str, int], float] = {}
        self._next: dict[tuple[str, int], int] = {}
        self._is_async = type(saver).aput_writes is not BaseCheckpointSaver.aput_writes

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer."""
        return self._saver

    @staticmethod
    def thread(run_id: str) -> str:
        """The thread that has everything of a run, and goes with it."""
        return _thread(run_id)

    # -- runs ------------------------------------------------------------------------------

    async def create(self, run: RunRecord) -> None:
        if await self.read(run.id) is not None:
            raise WorkflowError(
                f"there is a run {run.id!r} already; leave the id out for a new one"
            )
        for namespace in (_ENTRIES, _TURNS):
            await self._put(run.id, namespace, namespace, "", {})
        await self._put_run(run)

    async def read(self, run_id: str) -> RunRecord | None:
        found = await self._get(run_id, _RUN)
        return None if found is None else _run_of(found)

    async def update(self, run: RunRecord, lease: Lease) -> None:
        lease.check_run(run.id)
        await self._check(lease)
        await self._put_run(run)

    async def runs(self, status: str | None = None, limit: int = 100) -> Sequence[RunRecord]:
        wanted = {_MARK: "run"} if status is None else {_MARK: "run", "status": status}
        # In memory, threads come in no order.
        most = None if isinstance(self._saver, InMemorySaver) else limit
        if self._is_async:
            listed = [one async for one in self._saver.alist(None, filter=wanted, limit=most)]
        else:
            saver = self._saver
            listed = await self._blocking(lambda: [*saver.list(None, filter=wanted, limit=most)])
        found = [_run_of(one) for one in listed]
        return sorted(found, key=lambda run: (run.created, run.id), reverse=True)[:limit]

    async def delete(self, run_id: str) -> None:
        thread, saver = _thread(run_id), self._saver
        if await self.read(run_id) is None:
            return
        if self._is_async:
            await saver.adelete_thread(thread)
        else:
            await self._blocking(lambda: saver.delete_thread(thread))

    async def _put_run(self, run: RunRecord) -> None:
        text = _to_json({name: getattr(run, name) for name in _FIELDS})
        # Lists of runs have the order of these ids.
        moment = f"{int(run.created * 1e6):020d}"
        await self._put(run.id, _RUN, moment, text, {_MARK: "run", "status": run.status})

    # -- entries ---------------------------------------------------------------------------

    async def entries(self, run_id: str) -> Sequence[Entry]:
        return [entry for _, entry in _entries_of(await self._known(run_id, _ENTRIES))]

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        lease.check_run(run_id)
        own = lease.run_id, lease.token
        if self._clock() >= self._until.get(own, lease.until):  # else nobody has claimed the run
            await self._check(lease)
        if (following := self._next.get(own, index)) != index:
            raise WorkflowError(f"the next entry of {run_id!r} is {following}, not {index}")
        writes = [(_WRITES, _to_json(entry_to_json(entry))) for entry in entries]
        await self._write(run_id, _ENTRIES, writes, f"{index:010d}-{lease.token:08d}")
        self._next[own] = index + len(entries)

    # -- leases ----------------------------------------------------------------------------

    async def claim(self, run_id: str, owner: str, seconds: float) -> Lease | None:
        held = _lease_of(run_id, await self._known(run_id, _TURNS))
        if held is not None and held.until > self._clock():
            return None
        lease = Lease(run_id, owner, (held.token if held else 0) + 1, self._clock() + seconds)
        mine = secrets.token_hex(8)
        claim = _to_json({"owner": owner, "until": lease.until, "by": mine})
        await self._write(run_id, _TURNS, [(_WRITES, claim)], f"claim-{lease.token:08d}")
        found = dict(_claims(await self._known(run_id, _TURNS)))
        return lease if found[lease.token]["by"] == mine else None

    async def renew(self, lease: Lease, seconds: float) -> bool:
        return await self._prolong(lease, self._clock() + seconds)

    async def release(self, lease: Lease) -> None:
        await self._prolong(lease, 0.0)
        for remembered in (self._until, self._next):
            remembered.pop((lease.run_id, lease.token), None)

    async def _prolong(self, lease: Lease, until: float) -> bool:
        found = await self._get(lease.run_id, _TURNS)
        held = None if found is None else _lease_of(lease.run_id, found)
        if held is None or not _same(held, lease):
            return False
        writes = [(_LATEST, _to_json({"until": until}))]
        await self._write(lease.run_id, _TURNS, writes, f"until-{lease.token:08d}")
        self._until[lease.run_id, lease.token] = until
        return True

    async def _check(self, lease: Lease) -> None:
        held = _lease_of(lease.run_id, await self._known(lease.run_id, _TURNS))
        if held is None or not _same(held, lease):
            raise LeaseLost(f"another runner has claimed the run {lease.run_id!r}")

    # -- messages --------------------------------------------------------------------------

    async def send(self, run_id: str, message: Message) -> None:
        mine = secrets.token_hex(8)
        text = _to_json({"message": attrs.asdict(message), "by": mine})
        sent = dict(_messages(await self._known(run_id, _TURNS)))
        while True:
            number = max(sent, default=0) + 1
            await self._write(run_id, _TURNS, [(_WRITES, text)], f"message-{number:08d}")
            sent = dict(_messages(await self._known(run_id, _TURNS)))
            if sent[number]["by"] == mine:
                return

    async def messages(self, run_id: str, after: int) -> Sequence[tuple[int, Message]]:
        sent = sorted(_messages(await self._known(run_id, _TURNS)))
        return [(number, Message(**data["message"])) for number, data in sent if number > after]

    # -- the checkpointer ------------------------------------------------------------------

    async def _blocking(self, function: Callable[[], _T]) -> _T:
        """Run a method of a checkpointer that blocks."""
        return await call_blocking(function)

    async def _get(self, run_id: str, namespace: str) -> CheckpointTuple | None:
        config = _config(run_id, namespace, "" if namespace == _RUN else namespace)
        saver = self._saver
        if self._is_async:
            return await saver.aget_tuple(config)
        return await self._blocking(lambda: saver.get_tuple(config))

    async def _known(self, run_id: str, namespace: str) -> CheckpointTuple:
        found = await self._get(run_id, namespace)
        if found is None:
            raise UnknownRun(f"there is no run {run_id!r:.200}; list the runs of the store")
        return found

    async def _put(
        self, run_id: str, namespace: str, name: str, text: str, about: Mapping[str, Any]
    ) -> None:
        versions: Any = {_WRITES: secrets.token_hex(8)}
        checkpoint: Any = {
            "v": 1,
            "id": name,
            "ts": "",
            "channel_values": {_WRITES: text},
            "channel_versions": versions,
            "versions_seen": {},
            "updated_channels": None,
        }
        config, metadata, saver = _config(run_id, namespace), dict(about), self._saver
        if self._is_async:
            await saver.aput(config, checkpoint, metadata, versions)  # type: ignore[arg-type]
        else:
            await self._blocking(lambda: saver.put(config, checkpoint, metadata, versions))  # type: ignore[arg-type]

    def _place(self, run_id: str, namespace: str) -> RunnableConfig:
        """The checkpoint of a namespace, to which writes are added."""
        return _config(run_id, namespace, namespace)

    async def _write(
        self, run_id: str, namespace: str, writes: list[tuple[str, Any]], task: str
    ) -> None:
        config, saver = self._place(run_id, namespace), self._saver
        if self._is_async:
            await saver.aput_writes(config, writes, task)
        else:
            await self._blocking(lambda: saver.put_writes(config, writes, task))


def _thread(run_id: str) -> str:
    return f"workflow:{run_id}"


def _config(run_id: str, namespace: str, checkpoint: str = "") -> RunnableConfig:
    named = {"checkpoint_id": checkpoint} if checkpoint else {}
    return {"configurable": {"thread_id": _thread(run_id), "checkpoint_ns": namespace, **named}}


def _run_of(found: CheckpointTuple) -> RunRecord:
    try:
        fields = json.loads(found.checkpoint["channel_values"][_WRITES])
        return RunRecord(**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise WorkflowError(f"the record of a run is damaged: {error}") from error


def _writes(found: CheckpointTuple, kind: str) -> Iterator[tuple[str, Any]]:
    """The rest of the name and the text of each task of a kind."""
    for task, _, text in found.pending_writes or ():
        start, _, rest = task.partition("-")
        if start == kind:
            yield rest, text


def _claims(found: CheckpointTuple) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return ((int(number), json.loads(text)) for number, text in _writes(found, "claim"))


def _messages(found: CheckpointTuple) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return ((int(number), json.loads(text)) for number, text in _writes(found, "message"))


def _lease_of(run_id: str, found: CheckpointTuple) -> Lease | None:
    """The last lease on a run, which may have ended."""
    token, claim = max(_claims(found), key=lambda one: one[0], default=(0, None))
    if claim is None:
        return None
    prolonged = {int(number): json.loads(text) for number, text in _writes(found, "until")}
    return Lease(run_id, claim["owner"], token, prolonged.get(token, claim)["until"])


def _same(held: Lease, lease: Lease) -> bool:
    """Whether a lease is the last one, and was not given back.

    Another run may have had the same id before, so the owner counts, too.
    """
    return (held.token, held.owner) == (lease.token, lease.owner) and held.until > 0


def _entries_of(found: CheckpointTuple) -> Iterator[tuple[int, Entry]]:
    """The entries that count, with their places.

    Writes of a runner that has lost its lease end where the next one has begun.
    """
    batches: dict[tuple[int, int], list[str]] = {}
    for task, _, text in found.pending_writes or ():
        place, by = task.split("-")
        batches.setdefault((int(by), int(place)), []).append(text)
    begun: dict[int, int] = {}  # the first entry of each lease, of which there are few
    for token, index in batches:
        begun[token] = min(index, begun.get(token, index))
    placed: dict[int, str] = {}
    for (token, index), texts in sorted(batches.items()):
        if not any(later > token and first <= index for later, first in begun.items()):
            placed.update((index + offset, text) for offset, text in enumerate(texts))
    for number in range(len(placed)):
        if number not in placed:
            return
        try:
            yield number, entry_from_json(json.loads(placed[number]))
        except ValueError as error:
            raise WorkflowError(f"the record of the run is damaged: {error}") from error
