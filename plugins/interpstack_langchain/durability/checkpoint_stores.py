"""Journals of evals, stored among the writes of the checkpoint from which their step started."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from weakref import WeakMethod

import attrs
from langgraph.store.base import BaseStore
from langgraph.types import Command

from interpstack import Bridge, GuestError, Request
from interpstack_durable.api import (
    InFlightCalls,
    InFlightRegistry,
    Journal,
    answered_by,
    reporting_damage,
    retry_entry,
)
from interpstack_langchain.durability.checkpoint_writes import (
    JOURNAL_CHANNEL,
    CheckpointWrites,
    RememberedEntries,
    recorded_entries,
    recorded_spending,
    sound_entries,
    task_of,
)
from interpstack_langchain.durability.databases import Database
from interpstack_langchain.durability.eval_pauses import (
    EvalPauses,
    running_after,
)
from interpstack_langchain.durability.paused_runs import PausedRun, Sweep
from interpstack_langchain.langgraph_internals.call_scopes import Scope
from interpstack_langchain.rules.approvals import running_call
from interpstack_langchain.rules.decisions import Editable

__all__ = ["CheckpointStore", "Shared", "offer_record"]

_log = logging.getLogger(__name__)
#: Key of a journal's first entry: the ids of its calls name the thread, see `EvalCall.call_id`.
_NAMES_THREAD: Final = "thread"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Shared:
    """Settings and memory that the stores of one middleware share.

    Attributes:
        signing_key: Signs suspended evals, which the guest's memory is read from.
        pause_grace: Seconds that a pause waits for calls in flight.
        remembered: Entries of evals that have not ended.
        sweep: The time of the last removal of abandoned suspended evals.
    """

    signing_key: bytes | None = None
    pause_grace: float = 5.0
    remembered: RememberedEntries = attrs.field(factory=RememberedEntries, init=False)
    sweep: Sweep = attrs.field(factory=Sweep, init=False)


@attrs.define(eq=False, kw_only=True, repr=False)
class CheckpointStore:
    """Keeps the journal of one eval; see `interpstack_durable.api.JournalStore`.

    Attributes:
        key: Identifies the eval.
        writes: The checkpoint that holds the entries.
        config: Configuration of the task that runs the eval.
        store: Keeps the eval in the middle while it is paused, if the graph has one.
        shared: Settings and memory of the middleware's stores.
        editable: Tools that a decision on a call may name.
        commands: State updates that inner calls returned, with the calls' ids, in order.
        names_thread: Whether the ids of the eval's calls name the thread; earlier releases had
            the same ids in copies of a thread.
        needs_state: Whether an earlier run of the eval began with the stored variables.
        left_running: Names the calls that the last pause left running.
    """

    key: str
    writes: CheckpointWrites
    config: Mapping[str, Any]
    store: BaseStore | None
    shared: Shared
    editable: Editable
    commands: list[tuple[int, Command[Any]]] = attrs.field(factory=list)
    names_thread: bool = attrs.field(default=True, init=False)
    needs_state: bool = attrs.field(default=False, init=False)
    left_running: str = attrs.field(default="", init=False)
    _pauses: EvalPauses = attrs.field(init=False)
    _about: dict[str, Any] = attrs.field(factory=dict, init=False)
    _database: Database | None = attrs.field(default=None, init=False)
    _after_another: bool = attrs.field(default=False, init=False)
    _late: bool = attrs.field(default=False, init=False)
    _successor: CheckpointStore | None = attrs.field(default=None, init=False)
    _outer: CheckpointStore | None = attrs.field(default=None, init=False)
    _inside: list[CheckpointStore] = attrs.field(factory=list, init=False)
    _paused: PausedRun | None = attrs.field(default=None, init=False)
    _ended: set[int] = attrs.field(factory=set, init=False)
    _entries: list[Mapping[str, Any]] = attrs.field(factory=list, init=False)
    _spent: list[Mapping[str, Any]] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        returned = _weakly(self.returned)  # a turn leaves nothing to the garbage collector
        self._pauses = EvalPauses(self.config, self.writes, self.editable, returned, self.commands)
        if self.store is not None:
            self._paused = PausedRun(
                store=self.store,
                key=task_of(self.key, 0),
                eval_key=self.key,
                signing_key=self.shared.signing_key,
                call=self.writes.call,
                sweep=self.shared.sweep,
            )

    # -- the start of a run ----------------------------------------------------------------

    def describe(self, about: Mapping[str, Any]) -> None:
        """Record facts about the eval in its first entry, for a replay without an agent."""
        self._about |= about

    def begin_without_state(self) -> None:
        """Note that this run begins without the stored variables: they could not be restored."""
        self._about["stateless"] = True

    def run_inside(self, outer: CheckpointStore | None) -> None:
        """Note the journal of the eval whose code runs this one; `None` for the model's own."""
        self._outer = outer

    def run_in(self, database: Database, *, after_another: bool) -> None:
        """Note the database of this run, and whether the run had to wait for another one."""
        self._database, self._after_another = database, after_another

    @property
    def in_flight(self) -> InFlightRegistry | None:
        """Calls that pauses left running, in all runs of evals on the same database."""
        return None if self._database is None else self._database.in_flight

    def pass_on_to(self, successor: CheckpointStore) -> list[tuple[int, Command[Any]]]:
        """Pass values that this run's calls return to the eval's next run; return those so far."""
        self._successor = successor
        return self.commands

    @property
    def thread(self) -> str:
        """The thread whose checkpoint holds the entries."""
        return str(self.writes.checkpoint.config["configurable"]["thread_id"])

    def ends_before_its_calls(self) -> None:
        """Note that this run ends, and what its calls still record is late."""
        self._late = True

    # -- entries ---------------------------------------------------------------------------

    async def load(self) -> Sequence[Mapping[str, Any]]:
        """All entries, in order. State updates of recorded calls are applied again.

        The entries are always read again, because another run of the eval may have continued
        meanwhile.
        """
        remembered = self.shared.remembered.of(self.key)
        if not (self.writes.checkpoint.resuming or remembered or self._after_another):
            return []
        stored = await self.writes.read()
        read = recorded_entries if remembered else sound_entries
        entries = self._entries = read(self.key, stored)
        self._spent = recorded_spending(self.key, stored)
        while (missing := remembered.get(len(entries))) is not None:
            # The checkpointer failed, or LangGraph stores the checkpoint only at the end.
            await self._keep(len(entries), missing)
            entries.append(missing)
        with reporting_damage():
            self.commands += [(n, one) for entry in entries for n, one in entry.get("commands", ())]
        self._ended = {n for n, _ in self.commands}
        self.commands += [one for one in self._follow() if one[0] not in self._ended]
        self.names_thread = not entries or bool(entries[0].get(_NAMES_THREAD))
        return list(entries)

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        """Store an entry, unless its thread was deleted after this run had ended."""
        if self._late and await self.writes.is_deleted():
            _log.info("thread %s was deleted: a late result is not recorded", self.thread)
            return
        if index == 0:
            entry = {**entry, **self._about, _NAMES_THREAD: True}
        ended = answered_by(entry) - self._ended if self.commands else frozenset[int]()
        if returned := [one for one in self.commands if one[0] in ended]:
            entry = {**entry, "commands": returned}
        # First, because it has happened, even if it cannot be stored.
        self.shared.remembered.note(self.key, index, entry)
        self._entries[index:] = [entry]  # one that could not be stored may be there
        try:
            await self._keep(index, entry)
        except Exception:
            if entry.keys() <= {"notes"}:  # such as a decision: nothing has happened by it yet
                self.shared.remembered.drop(self.key, index)
                del self._entries[index:]
            raise
        self._ended |= ended  # an entry that failed is written again, with its updates

    async def append_spent(self, record: Mapping[str, Any]) -> None:
        """Store a record of drawn amounts, beside the entries."""
        if self._late and await self.writes.is_deleted():
            return
        task = task_of(self.key, f"{record['run']}|{record['number']}")
        await self.writes.put([(JOURNAL_CHANNEL, {"spent": dict(record), "of": self.key})], task)

    def spent(self) -> Sequence[Mapping[str, Any]]:
        """The records of amounts drawn in earlier runs, in no order."""
        return self._spent

    def returned(self, request_id: int, command: Command[Any]) -> None:
        """Note a state update that an inner call returned, for the run that receives its answer."""
        if self._successor is not None:
            self._successor.returned(request_id, command)
        else:
            self.commands.append((request_id, command))

    async def left(self, error: GuestError) -> None:
        """Have the calls made again that failed and so ended the eval, when it is run again."""
        if (entry := retry_entry(self._entries, error)) is not None:
            await self.append(len(self._entries), entry)

    async def _keep(self, index: int, entry: Mapping[str, Any]) -> None:
        await self.writes.put([(JOURNAL_CHANNEL, dict(entry))], task_of(self.key, index))

    @property
    def resuming(self) -> bool:
        """Whether the eval's step may have been run before."""
        return self.writes.checkpoint.resuming

    async def read_earlier_runs(self) -> None:
        """Note how earlier runs of the eval began and paused."""
        if not self.resuming:
            return
        entries = recorded_entries(self.key, await self.writes.read())
        self.needs_state = bool(entries) and not entries[0].get("stateless")
        with reporting_damage():
            self.left_running = _named(running_after(entries))

    # -- runs in the middle ----------------------------------------------------------------

    @property
    def pause_grace(self) -> float:
        """Seconds that a pause waits for calls in flight."""
        return self.shared.pause_grace

    @property
    def suspends(self) -> bool:
        """Whether there is a store to keep them."""
        return self.store is not None

    async def keep_suspended(self, text: str) -> None:
        """Store a suspended run, if it is not too large; the journal suffices to resume."""
        if self._paused is None:
            raise RuntimeError("the graph has no store")
        await self._paused.keep(text)

    async def suspended(self) -> str | None:
        """The stored suspended run; `None` if there is none or its signature is wrong."""
        runs = self._paused
        return await runs.find() if runs and self.writes.checkpoint.resuming else None

    async def ended(self) -> None:
        """Delete the data that was only needed to resume."""
        if self._outer is None:
            self.forget()
        else:  # that one may be run again, and would run this one again
            self._outer.contain(self)
        if self._paused is not None:
            await self._paused.drop()

    def contain(self, inner: CheckpointStore) -> None:
        """Note an eval that the code of this one ran to its end; both are forgotten together."""
        self._inside.append(inner)

    def forget(self) -> None:
        """Forget the entries of the eval and of evals that its code ran."""
        self.shared.remembered.forget(self.key)
        if self._database is not None:
            self._database.left.pop(self.key, None)
        for inner in self._inside:
            inner.forget()

    # -- pauses ----------------------------------------------------------------------------

    def scope_of(self, journal: Journal, request_id: int) -> Scope:
        """The scope that a call of this eval runs in."""
        return self._pauses.scope_of(journal, request_id)

    async def take_answers(self, journal: Journal) -> None:
        """Take the answers to the questions of the last pause; see `Journal.resume`."""
        found = recorded_entries(self.key, await self.writes.wait_until_stored())
        if len(found) > len(self._entries):  # this run was the first one, as far as it knew
            raise RuntimeError(
                "another process continued this thread at the same time, or a middleware called "
                "its handler again, and has begun this eval; no call was made here. Check the "
                "state of the thread. A middleware may call the handler again for what it raises, "
                "as with tool_errors='raise', and not for an eval that has ended"
            )
        await self._pauses.take_answers(journal)

    async def pause(
        self,
        journal: Journal,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
    ) -> BaseException:
        """Record the questions that the eval waits for, and combine them into one interrupt."""
        again = {request.id for request, _ in paused}  # these calls will write their updates again
        self.commands[:] = [one for one in self.commands if one[0] not in again]
        return await self._pauses.pause(journal, paused, running, self._leave)

    def _follow(self) -> list[tuple[int, Command[Any]]]:
        """Values that calls of the previous run returned; later ones are passed to this run."""
        before = None if self._database is None else self._database.follow(self.key, self)
        return [] if before is None else list(before.pass_on_to(self))

    def _leave(self, running: Sequence[Request]) -> list[dict[str, Any]]:
        """Leave running calls running, and return their description for the person who decides."""
        if self._database is not None:
            self._database.leave(self.key, self)
        calls = [running_call(request) for request in running]
        names = _named(calls)
        _log.warning(
            "eval %s pauses, and %d of its calls still run: %s", self.key, len(calls), names
        )
        return calls

    async def record_late_results(self, calls: InFlightCalls) -> None:
        """Record late results of these calls when they arrive, if there is a lock."""
        self.ends_before_its_calls()
        if self._database is not None:
            await self._database.record_late_results(self.key, calls)


def _weakly(
    method: Callable[[int, Command[Any]], None],
) -> Callable[[int, Command[Any]], None]:
    """A function that calls a method of an object, and does not keep the object alive."""
    found = WeakMethod(method)

    def call(request_id: int, command: Command[Any]) -> None:
        if (alive := found()) is not None:
            alive(request_id, command)

    return call


def _named(calls: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{one['name']}({one['input']})" for one in calls)


def offer_record(offered: Iterable[Bridge], language: str) -> dict[str, Any]:
    """The record of an offer to code, for `CheckpointStore.describe`.

    Args:
        offered: Bridges that code may call.
        language: Language of the code; empty where it has no name.
    """
    bridges = tuple(offered)
    unlisted = [bridge.name for bridge in bridges if not bridge.listed]
    positional = [bridge.name for bridge in bridges if bridge.positional]
    yielding = [bridge.name for bridge in bridges if bridge.yields]
    return {
        "offered": [bridge.name for bridge in bridges],
        "unlisted": unlisted,
        **({"positional": positional} if positional else {}),
        **({"yielding": yielding} if yielding else {}),
        **({"language": language} if language else {}),
    }
