"""Ledgers of evals, kept among the writes of the checkpoint their step started from.

LangGraph keeps what the tasks of a step have written until the step is over, and gives it back
when the step is resumed. An eval's ledger is there, too, as writes of tasks of its own, one for
each entry. They are written with the checkpointer directly and awaited: the guest is told
nothing that is not safe.
"""

from __future__ import annotations

import hmac
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.store.base import BaseStore
from langgraph.types import Interrupt

from interpstack import Ledger, Request, call_blocking
from interpstack_langchain.approvals import ApprovalNeeded, decisions, payload
from interpstack_langchain.scopes import (
    Checkpoint,
    Scope,
    answers_given,
    ask,
    has_plain_answer,
    scope,
)

__all__ = ["LEDGER", "EvalLedger", "Ledgers"]

#: The channel that entries are written to; no graph has it.
LEDGER: Final = "interpreter_ledger"
#: Where the graph's store has evals in the middle of their run.
_SUSPENDED: Final = ("interpstack", "suspended")
#: Evals whose entries are remembered at once.
_MAX_REMEMBERED: Final = 256


@attrs.define(eq=False)
class Ledgers:
    """The ledgers of one middleware.

    Entries of evals that have not ended are remembered: where LangGraph runs a step again in the
    same process, it does not say so.

    Attributes:
        signing_key: Signs suspended evals, which the guest's memory is read from.
    """

    signing_key: bytes | None = None
    _remembered: OrderedDict[str, list[Mapping[str, Any]]] = attrs.field(
        factory=OrderedDict, init=False
    )

    def open(self, request: ToolCallRequest, is_async: bool) -> EvalLedger | None:
        """The ledger of an eval; `None` where nothing can be kept.

        Args:
            request: The model's call of it.
            is_async: Whether the graph runs on the event loop of the caller.
        """
        config, store = request.runtime.config, request.runtime.store
        checkpoint = Checkpoint.of(config)
        if checkpoint is None:
            return None
        key = f"{checkpoint.id}|{request.tool_call['id'] or ''}"
        return EvalLedger(key, checkpoint, config, store, is_async, self)

    def remembered(self, key: str) -> list[Mapping[str, Any]]:
        """Entries of an eval that ran in this process and did not end."""
        return self._remembered.get(key, [])

    def remember(self, key: str, entry: Mapping[str, Any]) -> None:
        """Note an entry that was kept."""
        self._remembered.setdefault(key, []).append(entry)
        self._remembered.move_to_end(key)
        while len(self._remembered) > _MAX_REMEMBERED:
            self._remembered.popitem(last=False)

    def forget(self, key: str) -> None:
        """Forget an eval that has ended."""
        self._remembered.pop(key, None)


@attrs.define(eq=False)
class EvalLedger:
    """Keeps the ledger of one eval; see `interpstack_durable.ledger.LedgerStore`.

    Attributes:
        key: Identifies the eval.
        checkpoint: Where the entries are.
        config: Of the task that runs the eval.
        store: Keeps the eval in the middle while it is paused, if the graph has one.
        is_async: Whether the checkpointer is used on the event loop of the caller.
        ledgers: Of the middleware.
    """

    key: str
    checkpoint: Checkpoint
    config: Mapping[str, Any]
    store: BaseStore | None
    is_async: bool
    ledgers: Ledgers
    _before: list[tuple[str, str, Any]] | None = attrs.field(default=None, init=False)
    _kept: bool = attrs.field(default=False, init=False)
    _scopes: dict[int, Scope] = attrs.field(factory=dict, init=False)
    _given: dict[str, Any] = attrs.field(factory=dict, init=False)

    # -- entries ---------------------------------------------------------------------------

    async def load(self) -> Sequence[Mapping[str, Any]]:
        """All entries, in order."""
        if not self.checkpoint.resuming:
            return list(self.ledgers.remembered(self.key))
        writes = await self._stored()
        found = {task: value for task, channel, value in writes if channel == LEDGER}
        entries: list[Mapping[str, Any]] = []
        while (entry := found.get(self._task(len(entries)))) is not None:
            entries.append(entry)
        return entries

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        """Keep an entry."""
        await self._put(self.checkpoint.config, [(LEDGER, dict(entry))], self._task(index))
        self.ledgers.remember(self.key, entry)

    def _task(self, index: int) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.key}|{index}"))

    async def step_writes(self) -> list[tuple[str, Any]]:
        """What tasks of the same step wrote in an earlier run of it: channels and values."""
        if not self.checkpoint.resuming:
            return []
        return [(channel, value) for _, channel, value in await self._stored()]

    async def _stored(self) -> list[tuple[str, str, Any]]:
        """The writes that were there when the eval began."""
        if self._before is None:
            saver, config = self.checkpoint.saver, self.checkpoint.config
            found = await self._call(
                lambda: saver.aget_tuple(config), lambda: saver.get_tuple(config)
            )
            self._before = self.checkpoint.writes(found)
        return self._before

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
    def suspends(self) -> bool:
        """Whether there is a store to keep them."""
        return self.store is not None

    async def keep_suspended(self, text: str) -> None:
        """Keep one; too large for a checkpoint, and not needed to go on."""
        store, item = self.store, {"text": text, "mac": self._mac(text)}
        if store is None:
            raise RuntimeError("the graph has no store")
        await self._call(
            lambda: store.aput(_SUSPENDED, self._task(0), item, index=False),
            lambda: store.put(_SUSPENDED, self._task(0), item, index=False),
        )
        self._kept = True

    async def suspended(self) -> str | None:
        """The one that was kept; `None` also if it is not what was written."""
        store = self.store
        if store is None or not self.checkpoint.resuming:
            return None
        item = await self._call(
            lambda: store.aget(_SUSPENDED, self._task(0)),
            lambda: store.get(_SUSPENDED, self._task(0)),
        )
        if item is None:
            return None
        self._kept = True
        text = str(item.value.get("text"))
        return text if hmac.compare_digest(str(item.value.get("mac")), self._mac(text)) else None

    async def ended(self) -> None:
        """Drop what was only needed to go on."""
        self.ledgers.forget(self.key)
        store = self.store
        if store is not None and self._kept:
            await self._call(
                lambda: store.adelete(_SUSPENDED, self._task(0)),
                lambda: store.delete(_SUSPENDED, self._task(0)),
            )

    def _mac(self, text: str) -> str:
        key = self.ledgers.signing_key or b"interpstack"
        return hmac.new(key, f"{self.key}|{text}".encode(), "sha256").hexdigest()

    # -- pauses ----------------------------------------------------------------------------

    def scope_of(self, ledger: Ledger, request_id: int) -> Scope:
        """The scope that a call of this eval runs in."""
        found = self._scopes.get(request_id)
        if found is None:
            answers = ledger.noted(f"answers {request_id}") or []
            name = f"call:{request_id}"
            given = {**self._given, **answers_given(self.config)}
            found = self._scopes[request_id] = scope(self.config, name, answers, given)
        return found

    async def pause(
        self, ledger: Ledger, paused: Sequence[tuple[Request, BaseException]]
    ) -> BaseException:
        """Record what the eval waits for, and make one interrupt of it."""
        other = next(
            (e for _, e in paused if not isinstance(e, GraphInterrupt | ApprovalNeeded)), None
        )
        if other is not None:
            return other
        number = (ledger.noted("pauses") or 0) + 1
        questions = {str(r.id): e.question for r, e in paused if isinstance(e, ApprovalNeeded)}
        others = [one for _, e in paused if isinstance(e, GraphInterrupt) for one in _interrupts(e)]
        notes = {
            "pauses": number,
            f"pause {number}": {"questions": questions, "others": others},
            **{f"answers {key}": s.answers for key, s in self._scopes.items() if s.answers},
        }
        await ledger.note(notes)
        await self._use_up(*self._scopes.values())
        return self._unanswered(ledger, number)

    async def resume(self, ledger: Ledger) -> None:
        """Take the decisions on what the last pause asked for; see `Ledger.resume`."""
        self._given = dict(ledger.noted("given") or {})
        number = ledger.noted("pauses")
        pause = ledger.noted(f"pause {number}")
        if not pause or ledger.noted(f"resumed {number}"):
            return
        ids = {one.id for one in pause["others"]}
        given = {key: one for key, one in answers_given(self.config).items() if key in ids}
        if given:
            self._given |= given
            await ledger.note({"given": self._given})
        questions = pause["questions"]
        notes: dict[str, Any] = {f"resumed {number}": True}
        asked = self._question_scope(number)
        if questions:
            try:
                answer = ask(self.config, asked, payload(questions))
            except GraphInterrupt:
                raise self._unanswered(ledger, number) from None
            made = decisions(questions, answer)
            notes |= {f"decision {key}": decision for key, decision in made.items()}
        elif not (given or has_plain_answer(self.config)):
            raise self._unanswered(ledger, number)
        await ledger.note(notes)
        await self._use_up(asked)

    def _unanswered(self, ledger: Ledger, number: int) -> GraphInterrupt:
        """Everything that a pause waits for."""
        pause = ledger.noted(f"pause {number}")
        asked: list[Interrupt] = []
        if pause["questions"]:
            asked.append(Interrupt(payload(pause["questions"]), self._question_scope(number).id))
        return GraphInterrupt((*asked, *pause["others"]))

    def _question_scope(self, number: int) -> Scope:
        return scope(self.config, f"approval:{number}", [])

    async def _use_up(self, *scopes: Scope) -> None:
        """See `Checkpoint.answered`."""
        if any(one.took_plain for one in scopes):
            writes, task = self.checkpoint.answered()
            await self._put(self.checkpoint.root, writes, task)


def _interrupts(error: GraphInterrupt) -> Sequence[Interrupt]:
    return error.args[0] if error.args else ()
