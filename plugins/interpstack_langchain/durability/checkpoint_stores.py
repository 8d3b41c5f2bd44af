"""CheckpointStores of evals, kept among the writes of the checkpoint their step started from.

LangGraph keeps what the tasks of a step have written until the step is over, and gives it back
when the step is resumed. An eval's ledger is there, too, as writes of tasks of its own, one for
each entry. They are written with the checkpointer directly and awaited: the guest is told
nothing that is not safe.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.store.base import BaseStore
from langgraph.types import Command, Interrupt

from interpstack import GuestError, Request, Slots, call_blocking
from interpstack_durable.api import Journal
from interpstack_langchain.durability.paused_runs import PausedRuns, Sweep
from interpstack_langchain.durability.retries import effective, retry_entry
from interpstack_langchain.evals.call_names import call_name
from interpstack_langchain.langgraph_internals.call_scopes import (
    Checkpoint,
    Scope,
    answers_given,
    checkpoint_key,
    scope,
    sender,
    take_plain_answer,
    writes_at_start,
)
from interpstack_langchain.tools.approvals import (
    ApprovalNeeded,
    UnfitAnswer,
    decisions,
    payload,
    shown,
)

__all__ = ["LEDGER", "CheckpointStore", "CheckpointStores", "eval_key", "recorded_entries"]

_log = logging.getLogger(__name__)

#: The channel that entries are written to; no graph has it.
LEDGER: Final = "interpreter_ledger"
#: Evals whose entries are remembered at once.
_MAX_REMEMBERED: Final = 256
#: Seconds to wait for LangGraph to store the checkpoint that entries are written to.
_CHECKPOINT_SECONDS: Final = 10.0


def eval_key(checkpoint: RunnableConfig, name: str) -> str:
    """Identifies an eval among all evals, the same in every run of it.

    Args:
        checkpoint: Identifies the checkpoint that the eval's step started from.
        name: Of the model's call of it, among those of its message.
    """
    return f"{checkpoint_key(checkpoint)}|{name}"


def recorded_entries(key: str, writes: Iterable[tuple[str, str, Any]]) -> list[Mapping[str, Any]]:
    """The entries of an eval's ledger, in order.

    Args:
        key: The eval's.
        writes: Of the checkpoint that the eval's step started from: tasks, channels, values.
    """
    found = {task: value for task, channel, value in writes if channel == LEDGER}
    entries: list[Mapping[str, Any]] = []
    while (entry := found.get(_task(key, len(entries)))) is not None:
        entries.append(entry)
    return entries


@attrs.define(eq=False)
class CheckpointStores:
    """The ledgers of one middleware.

    Entries of evals that have not ended are remembered: where LangGraph runs a step again in the
    same process, it does not say so.

    Attributes:
        signing_key: Signs suspended evals, which the guest's memory is read from.
        pause_grace: Seconds that a pause waits for calls that are at work.
        sweep: When suspended evals were looked for last that nobody went on with.
    """

    signing_key: bytes | None = None
    pause_grace: float = 5.0
    sweep: Sweep = attrs.field(factory=Sweep, init=False)
    _remembered: OrderedDict[str, dict[int, Mapping[str, Any]]] = attrs.field(
        factory=OrderedDict, init=False
    )
    _left: dict[str, CheckpointStore] = attrs.field(factory=dict, init=False)
    _runs: dict[str, tuple[Slots, int]] = attrs.field(factory=dict, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def open(self, request: ToolCallRequest, is_async: bool) -> CheckpointStore | None:
        """The ledger of an eval; `None` where nothing can be kept.

        Args:
            request: The model's call of it.
            is_async: Whether the graph runs on the event loop of the caller.
        """
        config, store = request.runtime.config, request.runtime.store
        checkpoint = Checkpoint.of(config)
        if checkpoint is None:
            return None
        key = eval_key(checkpoint.config, call_name(request))
        tool_name = request.tool_call["name"]
        return CheckpointStore(key, checkpoint, config, store, is_async, self, tool_name)

    def remembered(self, key: str) -> Mapping[int, Mapping[str, Any]]:
        """Entries of an eval that ran in this process and did not end, by their places."""
        return self._remembered.get(key, {})

    def remember(self, key: str, index: int, entry: Mapping[str, Any]) -> None:
        """Note an entry that is about to be kept."""
        self._remembered.setdefault(key, {})[index] = entry
        self._remembered.move_to_end(key)
        while len(self._remembered) > _MAX_REMEMBERED:
            self._remembered.popitem(last=False)

    def forget(self, key: str) -> None:
        """Forget an eval that has ended."""
        self._remembered.pop(key, None)
        self._left.pop(key, None)

    def leave(self, ledger: CheckpointStore) -> None:
        """Note a run of an eval whose pause did not wait for all its calls."""
        self._left[ledger.key] = ledger
        while len(self._left) > _MAX_REMEMBERED:
            del self._left[next(iter(self._left))]

    def follow(self, ledger: CheckpointStore) -> list[tuple[int, Command[Any]]]:
        """Let what calls of the run before return go to the next run of an eval.

        Returns:
            What they have returned so far.
        """
        before = self._left.pop(ledger.key, None)
        if before is None:
            return []
        before.heir = ledger
        self.leave(ledger)
        return before.commands

    @asynccontextmanager
    async def alone(self, ledger: CheckpointStore | None) -> AsyncIterator[None]:
        """Run an eval while no other run of it does, in this process."""
        if ledger is None:
            yield
            return
        with self._lock:
            slots, users = self._runs.get(ledger.key, (Slots(1), 0))
            self._runs[ledger.key] = slots, users + 1
        try:
            async with slots.slot():
                yield
        finally:
            with self._lock:
                slots, users = self._runs.pop(ledger.key)
                if users > 1:
                    self._runs[ledger.key] = slots, users - 1


@attrs.define(eq=False)
class CheckpointStore:
    """Keeps the ledger of one eval; see `interpstack_durable.cell_journal.JournalStore`.

    Attributes:
        key: Identifies the eval.
        checkpoint: Where the entries are.
        config: Of the task that runs the eval.
        store: Keeps the eval in the middle while it is paused, if the graph has one.
        is_async: Whether the checkpointer is used on the event loop of the caller.
        ledgers: Of the middleware.
        tool_name: The eval tool.
        offered: Names that the eval's code may call, and whether it finds them in a list of
            names; kept for a replay that has no agent.
        language: Language of the eval's code; kept for the same.
        commands: State updates that inner calls returned, with the calls' ids, in order.
        form: Of the entries that were loaded, if there were some.
        needs_state: Whether an earlier run of the eval began with the stored variables.
        stateless: Whether this run began without them, since they could not be restored.
        heir: The next run of the eval, where this one's calls are still at work.
        outer: The ledger of the eval whose code runs this one, if there is one.
        inside: CheckpointStores of evals that this one's code ran to their ends.
    """

    key: str
    checkpoint: Checkpoint
    config: Mapping[str, Any]
    store: BaseStore | None
    is_async: bool
    ledgers: CheckpointStores
    tool_name: str
    offered: Mapping[str, bool] = attrs.field(factory=dict)
    language: str = ""
    commands: list[tuple[int, Command[Any]]] = attrs.field(factory=list)
    form: int | None = attrs.field(default=None, init=False)
    needs_state: bool = attrs.field(default=False, init=False)
    stateless: bool = attrs.field(default=False, init=False)
    heir: CheckpointStore | None = attrs.field(default=None, init=False)
    outer: CheckpointStore | None = attrs.field(default=None, init=False)
    inside: list[CheckpointStore] = attrs.field(factory=list, init=False)
    _kept: bool = attrs.field(default=False, init=False)
    _pauses: int = attrs.field(default=0, init=False)
    _scopes: dict[int, Scope] = attrs.field(factory=dict, init=False)
    _given: dict[str, Any] = attrs.field(factory=dict, init=False)
    _send: Callable[[Any], None] | None = attrs.field(default=None, init=False)
    _stored: bool = attrs.field(default=False, init=False)
    _ended: set[int] = attrs.field(factory=set, init=False)
    _entries: list[Mapping[str, Any]] = attrs.field(factory=list, init=False)
    _spent: list[Mapping[str, Any]] = attrs.field(factory=list, init=False)

    # -- entries ---------------------------------------------------------------------------

    async def load(self) -> Sequence[Mapping[str, Any]]:
        """All entries, in order; what calls returned beside their values is returned again.

        Read anew, whatever was read before: another run of the eval may have gone on meanwhile.
        """
        remembered = self.ledgers.remembered(self.key)
        if not (self.checkpoint.resuming or remembered):
            return []
        stored = self.checkpoint.writes(await self._tuple())
        entries = recorded_entries(self.key, stored)
        self._spent = [
            value["spent"]
            for _, channel, value in stored
            if channel == LEDGER and value.get("of") == self.key
        ]
        while (missing := remembered.get(len(entries))) is not None:
            # The checkpointer failed, or LangGraph stores the checkpoint only at the end.
            await self._keep(len(entries), missing)
            entries.append(missing)
        entries = self._entries = effective(entries)
        for entry in entries:
            self.commands += [(n, command) for n, command in entry.get("commands", ())]
        self._ended = {n for n, _ in self.commands}
        late = [one for one in self.ledgers.follow(self) if one[0] not in self._ended]
        self.commands += late
        self.form = entries[0].get("version") if entries else None
        return entries

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        """Keep an entry."""
        if index == 0:
            unlisted = [name for name, listed in self.offered.items() if not listed]
            entry = {**entry, "offered": list(self.offered), "unlisted": unlisted}
            if self.language:
                entry["language"] = self.language
            if self.stateless:
                entry["stateless"] = True
        if self.commands and (returned := self._returned(entry)):
            entry = {**entry, "commands": returned}
        # First, since it has happened, whether it can be kept or not.
        self.ledgers.remember(self.key, index, entry)
        self._entries.append(entry)
        await self._keep(index, entry)

    async def append_spent(self, record: Mapping[str, Any]) -> None:
        """Keep a record of what was drawn, beside the entries."""
        task = _task(self.key, f"{record['run']}|{record['number']}")
        written = {"spent": dict(record), "of": self.key}
        await self._put(self.checkpoint.config, [(LEDGER, written)], task)

    def spent(self) -> Sequence[Mapping[str, Any]]:
        """The records of what was drawn in earlier runs, in no order."""
        return self._spent

    def returned(self, request_id: int, command: Command[Any]) -> None:
        """Note a state update that an inner call returned, for the run that is told its answer."""
        if self.heir is not None:
            self.heir.returned(request_id, command)
        else:
            self.commands.append((request_id, command))

    async def left(self, error: GuestError) -> None:
        """Have the calls made again that failed and so ended the eval, when it is run again."""
        entry = retry_entry(self._entries, error)
        if entry is not None:
            await self.append(len(self._entries), entry)

    async def _keep(self, index: int, entry: Mapping[str, Any]) -> None:
        await self._put(self.checkpoint.config, [(LEDGER, dict(entry))], self._task(index))

    def _returned(self, entry: Mapping[str, Any]) -> list[tuple[int, Command[Any]]]:
        """The commands of calls whose answers no entry before this one holds."""
        answers = (*entry.get("settled", ()), *entry.get("kept", {}).get("settled", ()))
        ended = {request_id for request_id, *_ in answers} - self._ended
        self._ended |= ended
        return [one for one in self.commands if one[0] in ended]

    def _task(self, index: int) -> str:
        return _task(self.key, index)

    async def step_writes(self) -> list[tuple[str, Any]]:
        """What tasks of the same step wrote in an earlier run of it: channels and values.

        To be called before the eval waits for another run of it: an answer that this run was given
        is for what was asked by then.
        """
        if not self.checkpoint.resuming:
            return []
        writes = self.checkpoint.writes(await self._tuple())
        entries = recorded_entries(self.key, writes)
        self.needs_state = bool(entries) and not entries[0].get("stateless")
        began = writes_at_start(self.config)
        asked = entries if began is None else recorded_entries(self.key, began)
        notes = [entry.get("notes", {}) for entry in asked]
        self._pauses = max((noted.get("pauses", 0) for noted in notes), default=0)
        return [(channel, value) for _, channel, value in writes]

    async def _tuple(self, config: Any = None) -> Any:
        """The eval's checkpoint, or another, as it is stored; `None` if it is not."""
        saver, config = self.checkpoint.saver, config or self.checkpoint.config
        found = await self._call(lambda: saver.aget_tuple(config), lambda: saver.get_tuple(config))
        self._stored = self._stored or found is not None
        return found

    async def _put(self, config: Any, writes: list[tuple[str, Any]], task: str) -> None:
        saver = self.checkpoint.saver
        await self._call(
            lambda: saver.aput_writes(config, writes, task),
            lambda: saver.put_writes(config, writes, task),
        )

    async def _call(
        self, on_loop: Callable[[], Awaitable[Any]], blocking: Callable[[], Any]
    ) -> Any:
        return await (on_loop() if self.is_async else call_blocking(blocking))

    # -- runs in the middle ----------------------------------------------------------------

    @property
    def pause_grace(self) -> float:
        """Seconds that a pause waits for calls that are at work."""
        return self.ledgers.pause_grace

    @property
    def suspends(self) -> bool:
        """Whether there is a store to keep them."""
        return self.store is not None

    async def keep_suspended(self, text: str) -> None:
        """Keep one; too large for a checkpoint, and not needed to go on."""
        runs = self._paused_runs
        if runs is None:
            raise RuntimeError("the graph has no store")
        await runs.keep({"text": text, "mac": self._mac(text)})
        self._kept = True

    async def suspended(self) -> str | None:
        """The one that was kept; `None` also if it is not what was written."""
        runs = self._paused_runs
        item = None if runs is None or not self.checkpoint.resuming else await runs.find()
        if item is None:
            return None
        self._kept = True
        text = str(item.get("text"))
        return text if hmac.compare_digest(str(item.get("mac")), self._mac(text)) else None

    async def ended(self) -> None:
        """Drop what was only needed to go on."""
        if self.outer is None:
            self.forget()
        else:  # that one may be run again, and would run this one again
            self.outer.inside.append(self)
        runs = self._paused_runs
        if runs is not None and self._kept:
            await runs.drop()

    def forget(self) -> None:
        """Forget the entries of the eval, and of those that its code ran."""
        self.ledgers.forget(self.key)
        for inner in self.inside:
            inner.forget()

    @property
    def _paused_runs(self) -> PausedRuns | None:
        if self.store is None:
            return None
        return PausedRuns(self.store, self._task(0), self._call, self.ledgers.sweep)

    def _mac(self, text: str) -> str:
        key = self.ledgers.signing_key or b"interpstack"
        return hmac.new(key, f"{self.key}|{text}".encode(), "sha256").hexdigest()

    # -- pauses ----------------------------------------------------------------------------

    def scope_of(self, ledger: Journal, request_id: int) -> Scope:
        """The scope that a call of this eval runs in."""
        found = self._scopes.get(request_id)
        if found is None:
            answers = ledger.noted(f"answers {request_id}") or []
            self._send = self._send or sender(self.config)
            found = scope(self.config, f"call:{request_id}", answers, self._given, self._send)
            self._scopes[request_id] = found
        return found

    async def pause(
        self,
        ledger: Journal,
        paused: Sequence[tuple[Request, BaseException]],
        running: Sequence[Request],
    ) -> BaseException:
        """Record what the eval waits for, and make one interrupt of it."""
        known = (GraphInterrupt, ApprovalNeeded, UnfitAnswer)
        other = next((e for _, e in paused if not isinstance(e, known)), None)
        if other is not None:
            return other
        number = (ledger.noted("pauses") or 0) + 1
        questions = {str(r.id): e.question for r, e in paused if isinstance(e, ApprovalNeeded)}
        raised = [(r.id, one) for r, e in paused for one in _interrupts(e)]
        owners = {one.id: request_id for request_id, one in raised}
        others = [one for _, one in raised]
        pause: dict[str, Any] = {"questions": questions, "others": others, "owners": owners}
        if running:
            pause["running"] = self._leave(running)
        notes = {
            "pauses": number,
            f"pause {number}": pause,
            "given": {},  # what was given before has come to where it was waited for
            **{f"answers {key}": s.answers for key, s in self._scopes.items() if s.answers},
        }
        await ledger.note(notes)
        waiting = self._waiting(ledger, number)
        unfit = next((e for _, e in paused if isinstance(e, UnfitAnswer)), None)
        return GraphInterrupt(waiting) if unfit is None else _asking(unfit, waiting)

    def _leave(self, running: Sequence[Request]) -> list[dict[str, Any]]:
        """Leave calls alone that are at work; what the person is told of them who decides."""
        self.ledgers.leave(self)
        told = [shown(request) for request in running]
        named = ", ".join(f"{one['name']}({one['input']})" for one in told)
        _log.warning(
            "eval %s pauses, and %d of its calls still run: %s", self.key, len(told), named
        )
        return told

    async def resume(self, ledger: Journal) -> None:
        """Take the answers to what the last pause asked for; see `Journal.resume`."""
        await self._wait_for_checkpoint()
        self._given = dict(ledger.noted("given") or {})
        number = ledger.noted("pauses")
        if not number:
            return
        plain = take_plain_answer(self.config)
        try:
            if not ledger.noted(f"resumed {number}"):
                await self._take_answers(ledger, number, plain)
            elif self._given:
                await self._drop_used(ledger.noted(f"pause {number}").get("owners", {}))
        finally:
            if plain is not None:
                writes, task = self.checkpoint.answered()
                await self._put(self.checkpoint.root, writes, task)

    async def _take_answers(self, ledger: Journal, number: int, plain: Any) -> None:
        pause = ledger.noted(f"pause {number}")
        waiting = [one.id for one in self._waiting(ledger, number)]
        answers = answers_given(self.config)
        # With more, LangGraph wants them by id; and what was asked since is another question.
        if plain is not None and len(waiting) == 1 and number == self._pauses:
            answers[waiting[0]] = plain
        given = {key: answers[key] for key in waiting if key in answers}
        notes: dict[str, Any] = {f"resumed {number}": True}
        if not waiting:  # a break in a subagent's graph asks nothing: to be resumed is its answer
            await ledger.note(notes)
            return
        questions, asked = pause["questions"], self._question_id(number)
        if asked in given:
            try:
                made = decisions(questions, given.pop(asked), self.tool_name)
            except UnfitAnswer as error:
                raise _asking(error, self._waiting(ledger, number)) from None
            notes |= {f"decision {key}": decision for key, decision in made.items()}
            questions = {}
        self._given |= given
        notes["given"] = self._given
        if questions or not (given or pause["questions"]):
            if given:
                await ledger.note({"given": self._given})
            raise GraphInterrupt(self._waiting(ledger, number))
        await ledger.note(notes)

    async def _drop_used(self, owners: Mapping[str, int]) -> None:
        """Forget answers that subagents took before the process died.

        A subagent whose next question was stored has its earlier answers in its own checkpoint,
        and LangGraph would take one that is given by id for the next question, too.
        """
        for key in [key for key in self._given if key in owners]:
            call = scope(self.config, f"call:{owners[key]}", [])
            if self.checkpoint.has_answers(await self._tuple(self.checkpoint.within(call))):
                del self._given[key]

    def _waiting(self, ledger: Journal, number: int) -> tuple[Interrupt, ...]:
        """What a pause waits for and has no answer to."""
        pause = ledger.noted(f"pause {number}")
        given = ledger.noted("given") or {}
        asked: list[Interrupt] = []
        if pause["questions"]:
            question = payload(pause["questions"], pause.get("running", ()))
            asked.append(Interrupt(question, self._question_id(number)))
        return (*asked, *(one for one in pause["others"] if one.id not in given))

    def _question_id(self, number: int) -> str:
        return scope(self.config, f"approval:{number}", []).id

    async def _wait_for_checkpoint(self) -> None:
        """Return once the checkpoint that the entries are written to is stored.

        LangGraph stores it in the background. If the process died before it is there, the model
        would be asked again, and what its code had done would be done under other ids.
        """
        if self._stored or self.checkpoint.stored_at_exit:
            return
        until = time.monotonic() + _CHECKPOINT_SECONDS
        pause = 0.001
        while await self._tuple() is None:
            if time.monotonic() > until:
                raise TimeoutError(
                    f"the checkpoint of this step was not stored within {_CHECKPOINT_SECONDS:g} s, "
                    "so calls from code could not be recorded; no call was made. Look at the "
                    "checkpointer, and go on with the thread"
                )
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.1)


def _task(key: str, index: int | str) -> str:
    """The task that writes an entry."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{key}|{index}"))


def _asking(error: UnfitAnswer, waiting: tuple[Interrupt, ...]) -> UnfitAnswer:
    error.waiting = waiting
    return error


def _interrupts(error: BaseException) -> Sequence[Interrupt]:
    if isinstance(error, UnfitAnswer):
        return error.waiting
    return error.args[0] if isinstance(error, GraphInterrupt) and error.args else ()
