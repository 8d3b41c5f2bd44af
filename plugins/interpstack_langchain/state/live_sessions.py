"""What the middleware keeps in the graph's state, and the sessions that go with it.

The graph's state is the truth. A live session is only a cache of it: it carries the id of the
record it stands at, and is used only by a graph state that stands at the same record. So forks,
time travel and other processes all see the state of their own checkpoint.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, Final, NotRequired

import attrs
from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.channels.delta import DeltaChannel

from interpstack import (
    ConfigurationError,
    EngineFailure,
    HostOffer,
    ImageError,
    InterpreterStack,
    Persistence,
    RecordRejected,
    Session,
    SessionState,
    Slots,
    UnsupportedValue,
    call_blocking,
)
from interpstack_langchain.evals.eval_queue import Place
from interpstack_langchain.state.not_restored import StateNotRestored

__all__ = [
    "PEERS",
    "InterpreterState",
    "Known",
    "Sessions",
    "drawn_of",
    "joined",
    "new_turn",
    "turn_of",
    "with_writes",
]

#: Sessions that may be known at once; the ones used longest ago are closed.
_MAX_SESSIONS = 4096


Record = Mapping[str, Any]
#: The channel of another interpreter, langchain-quickjs.
PEERS: Final = "_quickjs_snapshot_payload"


def joined(state: Any, writes: Sequence[Any]) -> Any:
    """Fold lists of records into those that the newest one needs, oldest first.

    Writes of one step may arrive in any order, and a replay may fold them in other portions:
    the result is the same. Where two records have the same number, one that stands alone counts,
    else the later one. What is no list of records is kept, for loading to refuse.
    """
    for write in writes:
        if state and not _are_records(state):
            return state
        state = _joined([*(state or ()), *write]) if _are_records(write) else write
    return state


def _joined(records: list[Record]) -> list[Record]:
    found: dict[int, Record] = {}
    for record in records:
        known = found.get(record["sequence"])
        if known is None or known.get("previous") or not record.get("previous"):
            found[record["sequence"]] = record
    start = max((n for n, record in found.items() if not record.get("previous")), default=0)
    return [found[number] for number in sorted(found) if number >= start]


def _are_records(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, Mapping) and type(item.get("sequence")) is int for item in value
    )


#: What the reader is told once; the next record is of this interpreter.
_FOREIGN: Final = (
    "Variables of earlier turns were stored by another interpreter and are not available."
)


def newer(left: str, right: str) -> str:
    """Reduce two marks of a turn to the one with the higher sequence number."""
    return right if _number(right) >= _number(left) else left


def more(left: Mapping[str, Any], right: Mapping[str, Any]) -> Mapping[str, Any]:
    """Reduce what was told of a turn's budget: what is drawn only grows."""
    if not left or left["turn"] != right["turn"]:
        return right
    before, after = left["drawn"], right["drawn"]
    drawn = {kind: max(before.get(kind, 0), after.get(kind, 0)) for kind in {**before, **after}}
    return {**right, "drawn": drawn}


def _any(state: Any, writes: Sequence[Any]) -> bytes:
    """Whether something was written, as the shortest value that says so."""
    return b"1" if any((state, *writes)) else b""


class InterpreterState(AgentState[Any]):
    """Private channels of the middleware."""

    #: The turn, and the number of the newest record: an older one that was put back in its place
    #: does not fit it.
    interpreter_turn: NotRequired[Annotated[str, PrivateStateAttr, newer]]
    #: Checkpoints hold only what a step adds; now and then, LangGraph stores all of it.
    interpreter_record: NotRequired[
        Annotated[list[Record], PrivateStateAttr, DeltaChannel(joined, snapshot_frequency=16)]
    ]
    #: Where there is a budget: what was drawn in the turn, by kind.
    interpreter_drawn: NotRequired[Annotated[Mapping[str, Any], PrivateStateAttr, more]]
    #: Where langchain-quickjs has its variables; read to say that they are not available.
    _quickjs_snapshot_payload: NotRequired[Annotated[bytes, PrivateStateAttr, DeltaChannel(_any)]]


def new_turn(state: Mapping[str, Any]) -> dict[str, Any]:
    """The update that begins a run of the agent."""
    update: dict[str, Any] = {
        "interpreter_turn": f"{secrets.token_hex(8)}:{_number(state.get('interpreter_turn'))}"
    }
    if state.get("interpreter_record"):
        # Turns without an eval count, too: a state is looked up in the last few turns only.
        update["interpreter_record"] = []
    return update


def turn_of(state: Mapping[str, Any]) -> str:
    """Identifies the run of the agent."""
    return str(state.get("interpreter_turn", "")).partition(":")[0]


def drawn_of(state: Mapping[str, Any]) -> Mapping[str, float]:
    """What was drawn in the turn so far, as the graph's state tells it."""
    told = state.get("interpreter_drawn") or {}
    drawn: Mapping[str, float] = told["drawn"] if told.get("turn") == turn_of(state) else {}
    return drawn


def with_writes(
    state: Mapping[str, Any], writes: Sequence[tuple[str, Any]]
) -> tuple[Mapping[str, Any], list[str]]:
    """The state as tasks of the same step leave it that ended in an earlier run of the step.

    The graph does not show it yet: evals of one message all start from the state before them.

    Args:
        state: What the graph shows.
        writes: Channels, and what was written to them.

    Returns:
        The state, and the ids of the tool calls that have their answer.
    """
    seen, answered, ids = dict(state), list[str](), set[str | None]()
    for channel, value in writes:
        if channel == "interpreter_record":
            seen[channel] = joined(seen.get(channel) or [], [value])
        elif channel == "interpreter_turn":
            seen[channel] = newer(str(seen.get(channel, "")), str(value))
        elif channel == "interpreter_drawn":
            seen[channel] = more(seen.get(channel) or {}, value)
        elif channel == "messages":
            given = value if isinstance(value, list) else [value]
            told = [one for one in given if isinstance(one, ToolMessage)]
            # A message that others follow is written twice, under one id.
            answered += [one.tool_call_id for one in told if one.id is None or one.id not in ids]
            ids |= {one.id for one in told}
    return seen, answered


@attrs.define(eq=False)
class Known:
    """A live session, and where in the graph's state it stands.

    Attributes:
        session: The session.
        token: The record it stands at, or the turn.
        sequence: The record's sequence number.
        records: That record behind those that it builds on; the newest may not be in the graph's
            state yet. `None` between turns.
        spoiled: Something was left in the middle, so that the session is in no state to go on.
        detached: A restore failed: go on in memory, but never write over the stored state.
        entered: An eval uses it; still so once that is gone with its event loop, or in the parent
            of a forked process.
        warned: The reader knows that the state is too large to be stored.
        step: The model's message whose evals ran last, and the token before the first of them.
    """

    session: Session
    token: str
    sequence: int = 0
    records: Sequence[Record] | None = None
    spoiled: bool = False
    detached: bool = False
    entered: bool = False
    warned: bool = False
    step: tuple[str, str] | None = None

    def fits(self, token: str, place: Place | None) -> bool:
        """Whether the session stands at `token`, or at an earlier eval of the same message.

        All evals of one message see the state from before the first of them.
        """
        later = place is not None and not place.first and self.step == (place.message, token)
        return self.token == token or later

    def advance(self, record: Record, place: Place | None) -> None:
        """Note that the session now stands at another record."""
        if place is None:
            self.step = None
        elif place.first or self.step is None or self.step[0] != place.message:
            self.step = (place.message, self.token)
        self.token, self.sequence = _token([record]), record["sequence"]
        self.records = joined(list(self.records or ()), [[record]])


@attrs.define(eq=False)
class Sessions:
    """The sessions of one middleware, by conversation.

    Attributes:
        stack: Where they come from.
        mode: How long variables live.
        keys: Begins their keys in the stack.
    """

    stack: InterpreterStack
    mode: Persistence
    keys: str = ""
    _known: OrderedDict[str, Known] = attrs.field(factory=OrderedDict, init=False)
    _locks: dict[str, Slots] = attrs.field(factory=dict, init=False)
    _offered: OrderedDict[str, list[BaseTool]] = attrs.field(factory=OrderedDict, init=False)

    def offer(self, owner: str, tools: list[BaseTool]) -> None:
        """Note the tools that the model of a conversation was just offered."""
        self._offered[owner] = tools
        self._offered.move_to_end(owner)
        while len(self._offered) > _MAX_SESSIONS:
            self._offered.popitem(last=False)

    def offered(self, owner: str) -> list[BaseTool] | None:
        """Those tools; `None` if the model was called in another process."""
        return self._offered.get(owner)

    @asynccontextmanager
    async def enter(
        self,
        owner: str,
        state: Mapping[str, Any],
        place: Place | None,
        offer: HostOffer,
        keeps: bool,
        foreign: bool = False,
        needed: bool = False,
    ) -> AsyncIterator[Known]:
        """Hold a conversation's session, at the state the graph stands at; others wait.

        Args:
            owner: The conversation.
            state: Of the graph.
            place: The eval's place in its message.
            offer: The offer to bind to the session.
            keeps: Whether its state is kept in the graph's.
            foreign: Whether another interpreter has stored variables there.
            needed: Whether the eval began with the stored variables in an earlier run.

        Raises:
            StateNotRestored: They are needed, and cannot be restored.
        """
        async with self._locks.setdefault(owner, Slots(1)).slot():
            records = self._records(state) if keeps else []
            token = _token(records)
            if not self.mode.stores:
                token = token or turn_of(state)
            known = self._known.get(owner)
            if known is not None and known.entered:
                known.spoiled = keeps and not known.detached
            if known is None or not known.fits(token, place):
                newest = _number(state.get("interpreter_turn")) if keeps else 0
                known = await self._open(owner, token, records, newest, offer, needed)
                if foreign and self.mode.stores and not (records or newest):
                    known.session.notify(_FOREIGN)
            elif known.spoiled:
                known = await self._reopen(owner, known, records, offer, needed)
            else:
                known.session.bind(offer)
            if known.records is None:
                known.records = records
            self._known[owner] = known
            self._known.move_to_end(owner)
            known.entered = True
            try:
                yield known
            except GeneratorExit:
                raise
            except ConfigurationError:
                known.entered = False  # nothing was run
                raise
            except BaseException:
                known.entered, known.spoiled = False, keeps and not known.detached
                raise
            known.entered = False
        await self._trim()

    def _records(self, state: Mapping[str, Any]) -> Any:
        """The records that hold for this turn."""
        records = state.get("interpreter_record") or []
        if self.mode.stores or not _are_records(records):
            return records
        return [record for record in records if record.get("turn") == turn_of(state)]

    async def _open(
        self,
        owner: str,
        token: str,
        records: Sequence[Record],
        newest: int,
        offer: HostOffer,
        needed: bool,
    ) -> Known:
        session = self.stack.session(self.keys + owner)
        await session.reset()
        session.bind(offer)
        known = Known(session, token, newest)
        if not (records or (newest and self.mode.stores)):
            return known
        try:
            state = await call_blocking(partial(self._load, owner, records, newest))
            if state == SessionState():
                notices: tuple[str, ...] = ("Variables of earlier turns were too large to keep.",)
            else:
                notices = await self._restored(session, state)
        except (RecordRejected, ImageError, EngineFailure, UnsupportedValue) as error:
            await session.reset()
            if needed:
                raise StateNotRestored(error) from error
            known.detached = True
            notices = (
                f"Variables of earlier turns could not be restored: {error}. Those of this turn "
                "will not be kept.",
            )
        for notice in notices:
            session.notify(notice)
        return known

    async def _restored(self, session: Session, state: SessionState) -> tuple[str, ...]:
        """Restore a state; what the reader must be told."""
        try:
            return await session.restore_state(state)
        except ImageError:
            engine = "" if state.image is None else state.image.engine
            own = self.stack.engine.name.removeprefix("process:")
            if state.values is not None or engine.removeprefix("process:") in ("", own):
                raise
            return (_FOREIGN,)  # only that engine could restore it

    async def _reopen(
        self, owner: str, known: Known, records: Sequence[Record], offer: HostOffer, needed: bool
    ) -> Known:
        """The session as its last good eval left it."""
        records = records if known.records is None else known.records
        again = await self._open(owner, known.token, records, known.sequence, offer, needed)
        again.records, again.step, again.warned = records, known.step, known.warned
        return again

    def _load(self, owner: str, records: Any, newest: int) -> SessionState:
        if not records or not _are_records(records):
            raise RecordRejected("the stored state is damaged: it is no list of records")
        *earlier, record = records
        state = self.mode.load(record, owner, earlier)
        if record["sequence"] != newest:
            raise RecordRejected("the stored state is of another turn of the conversation")
        return state

    async def end_turn(self, owner: str, *, close: bool) -> None:
        """Let go of what only this turn needs; `close` ends the conversation's session, too."""
        known = self._known.get(owner)
        if known is not None:
            known.records = None
            close = close or known.detached  # the next turn tries to restore again
        if not close:
            return
        self._known.pop(owner, None)
        if known is not None:
            await known.session.aclose()
        self._forget_lock(owner)

    async def aclose(self) -> None:
        """Close all sessions, after the evals that run."""
        while self._known:
            _, known = self._known.popitem()
            await known.session.aclose()

    async def _trim(self) -> None:
        while len(self._known) > _MAX_SESSIONS:
            owner, known = self._known.popitem(last=False)
            await known.session.aclose()
            self._forget_lock(owner)

    def _forget_lock(self, owner: str) -> None:
        lock = self._locks.get(owner)
        if lock is not None and not lock.busy:
            del self._locks[owner]


def _token(records: Any) -> str:
    if not records:
        return ""
    return str(records[-1].get("id")) if _are_records(records) else "damaged"


def _number(mark: Any) -> int:
    """The sequence number in the mark of a turn."""
    number = str(mark or "").rpartition(":")[2]
    return int(number) if number.isascii() and number.isdigit() else 0
