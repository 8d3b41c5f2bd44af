"""What the middleware keeps in the graph's state, and the sessions that go with it.

The graph's state is the truth. A live session is only a cache of it: it carries the id of the
record it stands at, and is used only by a graph state that stands at the same record. So forks,
time travel and other processes all see the state of their own checkpoint.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, NotRequired

import attrs
from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.tools import BaseTool

from interpstack import (
    ConfigurationError,
    EngineFailure,
    ImageError,
    InterpreterStack,
    Persistence,
    RecordRejected,
    Session,
    SessionState,
    Slots,
)
from interpstack_langchain.order import Place

__all__ = ["InterpreterState", "Known", "Sessions", "later", "new_turn"]

#: Sessions that may be known at once; the ones used longest ago are closed.
_MAX_SESSIONS = 4096


def later(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> Any:
    """Reduce two records to the later one: writes of one step may arrive in any order."""
    if not left or not right:
        return right or left
    return right if right.get("sequence", 0) >= left.get("sequence", 0) else left


def higher(left: int, right: int) -> int:
    """Reduce two sequence numbers to the higher one."""
    return max(left, right)


class InterpreterState(AgentState[Any]):
    """Private channels of the middleware."""

    interpreter_turn: NotRequired[Annotated[str, PrivateStateAttr]]
    interpreter_record: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr, later]]
    #: Of the newest record; an older one that was put back in its place does not fit it.
    interpreter_sequence: NotRequired[Annotated[int, PrivateStateAttr, higher]]


@attrs.define(eq=False)
class Known:
    """A live session, and where in the graph's state it stands.

    Attributes:
        session: The session.
        token: The record it stands at, or the turn.
        sequence: The record's sequence number.
        record: That record, if it was made in this turn: it may not be in the graph's state yet.
        spoiled: Something was left in the middle, so that the session is in no state to go on.
        detached: A restore failed: go on in memory, but never write over the stored state.
        warned: The reader knows that the state is too large to be stored.
        step: The model's message whose evals ran last, and the token before the first of them.
    """

    session: Session
    token: str
    sequence: int = 0
    record: Mapping[str, Any] | None = None
    spoiled: bool = False
    detached: bool = False
    warned: bool = False
    step: tuple[str, str] | None = None

    def fits(self, token: str, place: Place | None) -> bool:
        """Whether the session stands at `token`, or at an earlier eval of the same message.

        All evals of one message see the state from before the first of them.
        """
        later = place is not None and not place.first and self.step == (place.message, token)
        return self.token == token or later

    def advance(self, record: Mapping[str, Any], place: Place | None) -> None:
        """Note that the session now stands at another record."""
        if place is None:
            self.step = None
        elif place.first or self.step is None or self.step[0] != place.message:
            self.step = (place.message, self.token)
        self.token, self.sequence, self.record = _token(record), record["sequence"], record


@attrs.define(eq=False)
class Sessions:
    """The sessions of one middleware, by conversation."""

    stack: InterpreterStack
    mode: Persistence
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
        self, owner: str, state: Mapping[str, Any], place: Place | None
    ) -> AsyncIterator[Known]:
        """Hold a conversation's session, at the state the graph stands at; others wait."""
        async with self._locks.setdefault(owner, Slots(1)).slot():
            record = state.get("interpreter_record") if self.mode.stores else None
            token = _token(record) if self.mode.stores else str(state.get("interpreter_turn", ""))
            known = self._known.get(owner)
            if known is None or not known.fits(token, place):
                known = await self._open(owner, token, record, state.get("interpreter_sequence", 0))
            elif known.spoiled:
                known = await self._reopen(owner, known, record)
            self._known[owner] = known
            self._known.move_to_end(owner)
            try:
                yield known
            except ConfigurationError:
                raise  # nothing was run
            except BaseException:
                known.spoiled = self.mode.stores and not known.detached
                raise
        await self._trim()

    async def _open(
        self, owner: str, token: str, record: Mapping[str, Any] | None, newest: int
    ) -> Known:
        session = self.stack.session(owner)
        await session.reset()
        known = Known(session, token, newest)
        if not self.mode.stores or not (record or newest):
            return known
        try:
            state = self._load(owner, record or {}, newest)
            if state == SessionState():
                notices: tuple[str, ...] = ("Variables of earlier turns were too large to keep.",)
            else:
                notices = await session.restore_state(state)
        except (RecordRejected, ImageError, EngineFailure) as error:
            await session.reset()
            known.detached = True
            notices = (
                f"Variables of earlier turns could not be restored: {error}. Those of this turn "
                "will not be kept.",
            )
        for notice in notices:
            session.notify(notice)
        return known

    async def _reopen(self, owner: str, known: Known, record: Mapping[str, Any] | None) -> Known:
        """The session as its last good eval left it."""
        again = await self._open(owner, known.token, known.record or record, known.sequence)
        again.record, again.step, again.warned = known.record, known.step, known.warned
        return again

    def _load(self, owner: str, record: Mapping[str, Any], newest: int) -> SessionState:
        state = self.mode.load(record, owner)
        if record["sequence"] != newest:
            raise RecordRejected("the stored state is of another turn of the conversation")
        return state

    async def end_turn(self, owner: str, *, close: bool) -> None:
        """Let go of what only this turn needs; `close` ends the conversation's session, too."""
        known = self._known.get(owner)
        if known is not None:
            known.record = None
            close = close or known.detached  # the next turn tries to restore again
        if not close:
            return
        self._known.pop(owner, None)
        if known is not None:
            await known.session.aclose()
        self._forget_lock(owner)

    async def _trim(self) -> None:
        while len(self._known) > _MAX_SESSIONS:
            owner, known = self._known.popitem(last=False)
            await known.session.aclose()
            self._forget_lock(owner)

    def _forget_lock(self, owner: str) -> None:
        lock = self._locks.get(owner)
        if lock is not None and not lock.busy:
            del self._locks[owner]


def new_turn() -> str:
    """An id for one run of the agent."""
    return uuid.uuid4().hex


def _token(record: Mapping[str, Any] | None) -> str:
    if not record:
        return ""
    return str(record.get("id")) if isinstance(record, Mapping) else "damaged"
