"""Live sessions: interpreters in memory whose variables match a state that an adapter stored.

The stored state is the truth. A live session is only a cache of it: it carries the id of the
record it stands at, and is used only by a conversation that stands at the same record. So forks,
time travel and other processes all see their own state.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import attrs

from interpstack import (
    Cell,
    ConfigurationError,
    EngineFailure,
    HostOffer,
    ImageError,
    InterpreterStack,
    Outcome,
    Session,
    SessionState,
    Slots,
    UnsupportedValue,
    call_blocking,
)
from interpstack_agents.eval_queue import QueuePosition
from interpstack_agents.persistence import Persistence, RecordRejected
from interpstack_agents.records import Record, are_records, joined, token_of

__all__ = ["LiveSession", "LiveSessions", "SavedState"]

#: Sessions that may be known at once; the ones used longest ago are closed.
_MAX_SESSIONS: Final = 4096
#: Notices are shown once; the next record is of this interpreter.
_FOREIGN: Final = (
    "Variables of earlier turns were stored by another interpreter and are not available."
)
_ENDED: Final = (
    "Variables of earlier turns are not available: the last turn with code ran in a mode that "
    "keeps none, and replaced them."
)


@attrs.frozen(kw_only=True)
class SavedState:
    """State of a conversation that an adapter has stored.

    Attributes:
        records: Records, oldest first. They are checked before anything of them is used.
        newest: Number of the newest record, stored separately, so that an older record put in its
            place is detected. 0 without any record.
        turn: Identifies the run of the agent, for modes whose variables end with it.
        foreign: Whether another interpreter has stored variables of this conversation.
    """

    records: Any = ()
    newest: int = 0
    turn: str = ""
    foreign: bool = False

    @classmethod
    def of(cls, records: Sequence[Record]) -> SavedState:
        """The state of records that no other code can change."""
        return cls(records=list(records), newest=records[-1]["sequence"] if records else 0)


@attrs.frozen
class _Use:
    """The eval that holds a live session."""

    mode: Persistence
    owner: str
    turn: str
    keeps: bool
    position: QueuePosition | None


@attrs.define(eq=False)
class LiveSession:
    """A live session, with the stored state that its variables match.

    Attributes:
        session: The session.
        token: The record that the variables match, or the turn.
        sequence: The record's sequence number.
        records: The newest record, preceded by the records that it builds on; the newest may not be
            stored yet. `None` between turns.
        spoiled: Whether an operation was interrupted, so that the session cannot be used any more.
        detached: Whether a restore failed: the session continues in memory, and the stored state is
            never overwritten.
        entered: Whether an eval uses the session. The value stays true if that eval has disappeared
            with its event loop, or in the parent of a forked process.
        warned: The reader knows that the state is too large to be stored.
        step: The model's message whose evals ran last, and the token before the first of them.
        use: The eval that holds the session, or held it last.
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
    use: _Use | None = None

    def hold(self, use: _Use, records: Sequence[Record]) -> None:
        """Record which eval is about to use the session, and the records before that eval."""
        self.use = use
        if self.records is None:
            self.records = records

    def follow(self, before: LiveSession, records: Sequence[Record]) -> LiveSession:
        """Replace a session with the same stored state."""
        self.records, self.step, self.warned = records, before.step, before.warned
        return self

    def rest(self) -> None:
        """Let the records go until the next turn."""
        self.records = None

    def detach(self) -> None:
        """Record that the stored variables could not be restored."""
        self.detached = True

    def enter(self) -> None:
        """Record that an eval uses the session."""
        self.entered = True

    def leave(self, *, spoiled: bool | None = None) -> None:
        """Record that no eval uses the session.

        Args:
            spoiled: Whether something was left in the middle; `None` leaves that as it was. A
                detached session goes on anyway.
        """
        self.entered = False
        if spoiled is not None:
            self.spoiled = spoiled and not self.detached

    async def eval(
        self,
        cell: str | Cell,
        *,
        host: Any = None,
        on_console: Callable[[str], None] | None = None,
        undoes: Callable[[Outcome], bool] = lambda outcome: False,
    ) -> tuple[Outcome, Record | None]:
        """Run a cell, and make the record of the state after it.

        Args:
            cell: Source text, or a cell.
            host: See `Session.eval`; also for `on_console`.
            undoes: Says of an outcome whether the cell will run again, from the state before it.

        Returns:
            The outcome, and the record that the adapter is to store; `None` where nothing is
            stored. A state that cannot be had leaves the variables as they were, and the outcome
            says so.

        Raises:
            ConfigurationError: The session is not held by `LiveSessions.enter`.
        """
        use = self.use
        if use is None or not self.entered:
            raise ConfigurationError(
                "a live session runs cells only inside `async with LiveSessions.enter(…)`"
            )
        async with self.session as session:
            if not use.keeps or self.detached:
                return await session.eval(cell, host=host, on_console=on_console), None
            outcome, kept = await session.eval_with_state(
                cell, wants_values=use.mode.wants_values, on_console=on_console, host=host
            )
            if undoes(outcome):
                self.spoiled = True
                return outcome, None
            if kept is None or outcome.state == "lost":
                self.spoiled = True
                return _undone(outcome), None
            return await self._recorded(outcome, kept, use)

    async def reset(self) -> None:
        """Forget all variables, also stored ones that could not be restored."""
        async with self.session as session:
            await session.reset()
        if self.detached:
            self.detached, self.records = False, ()

    async def _recorded(
        self, outcome: Outcome, state: SessionState, use: _Use
    ) -> tuple[Outcome, Record]:
        """An outcome, and the record of the state after it."""
        # To dump a state takes some milliseconds or more: it is compressed and signed.
        records = self.records or ()
        dump = partial(use.mode.dump, state, use.owner, self.sequence + 1, records)
        dumped, notice = await call_blocking(dump)
        record = {**dumped, "id": secrets.token_hex(8)}
        if not use.mode.stores:
            record["turn"] = use.turn
        self.advance(record, use.position)
        if notice and not self.warned:
            outcome = attrs.evolve(outcome, notices=(*outcome.notices, notice))
        self.warned = bool(notice)
        return outcome, record

    def fits(self, token: str, position: QueuePosition | None) -> bool:
        """Whether the session is at `token`, or at an earlier eval of the same message.

        All evals of one message see the state from before the first of them.
        """
        later = (
            position is not None and not position.first and self.step == (position.message, token)
        )
        return self.token == token or later

    def advance(self, record: Record, position: QueuePosition | None) -> None:
        """Record that the session's variables now match another record."""
        if position is None:
            self.step = None
        elif position.first or self.step is None or self.step[0] != position.message:
            self.step = (position.message, self.token)
        self.token, self.sequence = token_of([record]), record["sequence"]
        self.records = joined(list(self.records or ()), [[record]])


@attrs.define(eq=False)
class LiveSessions:
    """The sessions of one middleware, by conversation.

    Attributes:
        stack: The stack that makes the sessions.
        mode: The persistence mode, which decides how long variables live.
        keys: The prefix of the sessions' keys in the stack.
    """

    stack: InterpreterStack
    mode: Persistence
    keys: str = ""
    _known: OrderedDict[str, LiveSession] = attrs.field(factory=OrderedDict, init=False)
    _locks: dict[str, Slots] = attrs.field(factory=dict, init=False)

    @asynccontextmanager
    async def enter(
        self,
        owner: str,
        saved: SavedState,
        offer: HostOffer,
        *,
        keeps: bool = True,
        position: QueuePosition | None = None,
        refuse: Callable[[Exception], Exception] | None = None,
    ) -> AsyncIterator[LiveSession]:
        """Hold a conversation's session at its stored state; other evals of the conversation wait.

        Args:
            owner: Identifies the conversation.
            saved: The state that is stored.
            offer: The offer to bind to the session.
            keeps: Whether the state is stored after each eval.
            position: Position of the eval among the evals of its message.
            refuse: Makes the error to raise where the stored variables cannot be restored;
                without it, the eval starts without them, and the reader learns why.
        """
        async with self._locks.setdefault(owner, Slots(1)).slot():
            live = await self._at(
                owner,
                saved if keeps else SavedState(turn=saved.turn),
                offer,
                keeps,
                position,
                refuse,
            )
            self._known[owner] = live
            self._known.move_to_end(owner)
            live.enter()
            try:
                yield live
            except GeneratorExit:
                raise
            except ConfigurationError:
                live.leave()  # nothing was run
                raise
            except BaseException:
                live.leave(spoiled=keeps)
                raise
            live.leave()
        await self._trim()

    async def _at(
        self,
        owner: str,
        saved: SavedState,
        offer: HostOffer,
        keeps: bool,
        position: QueuePosition | None,
        refuse: Callable[[Exception], Exception] | None,
    ) -> LiveSession:
        """The live session of a conversation, brought to the state that is stored."""
        records = self._records(saved)
        token = token_of(records)
        if not self.mode.stores:
            token = token or saved.turn
        live = self._known.get(owner)
        if live is not None and live.entered:
            live.leave(spoiled=keeps)
        if live is None or not live.fits(token, position):
            live = await self._open(owner, token, records, saved.newest, offer, refuse)
            if saved.foreign and self.mode.stores and not (records or saved.newest):
                live.session.notify(_FOREIGN)
        elif live.spoiled:
            live = await self._reopen(owner, live, records, offer, refuse)
        else:
            live.session.bind(offer)
        live.hold(_Use(self.mode, owner, saved.turn, keeps, position), records)
        return live

    def _records(self, saved: SavedState) -> Any:
        """The records that hold for this turn."""
        records = saved.records or []
        if self.mode.stores or not are_records(records):
            return records
        return [record for record in records if record.get("turn") == saved.turn]

    async def _open(
        self,
        owner: str,
        token: str,
        records: Sequence[Record],
        newest: int,
        offer: HostOffer,
        refuse: Callable[[Exception], Exception] | None,
    ) -> LiveSession:
        session = self.stack.session(self.keys + owner)
        await session.reset()
        session.bind(offer)
        known = LiveSession(session, token, newest)
        if not (records or (newest and self.mode.stores)):
            return known
        try:
            state = await call_blocking(partial(self._load, owner, records, newest))
            if state == SessionState():
                notices: tuple[str, ...] = ("Variables of earlier turns were too large to keep.",)
            elif self.mode.stores and "turn" in records[-1]:
                notices = (_ENDED,)  # the record of a turn, which another mode has made
            else:
                notices = await self._restored(session, state)
        except (RecordRejected, ImageError, EngineFailure, UnsupportedValue) as error:
            await session.reset()
            if refuse is not None:
                raise refuse(error) from error
            known.detach()
            notices = (
                f"Variables of earlier turns could not be restored: {error}. Those of this turn "
                "will not be kept.",
            )
        for notice in notices:
            session.notify(notice)
        return known

    async def _restored(self, session: Session, state: SessionState) -> tuple[str, ...]:
        """Restore a state, and return the notices for the reader."""
        try:
            return await session.restore_state(state)
        except ImageError:
            engine = "" if state.image is None else state.image.engine
            if state.values is not None or engine in ("", self.stack.engine.runs.name):
                raise
            return (_FOREIGN,)  # only that engine could restore it

    async def _reopen(
        self,
        owner: str,
        known: LiveSession,
        records: Sequence[Record],
        offer: HostOffer,
        refuse: Callable[[Exception], Exception] | None,
    ) -> LiveSession:
        """The session in the state after its last completed eval."""
        records = records if known.records is None else known.records
        again = await self._open(owner, known.token, records, known.sequence, offer, refuse)
        return again.follow(known, records)

    def _load(self, owner: str, records: Any, newest: int) -> SessionState:
        if not records or not are_records(records):
            raise RecordRejected("the stored state is damaged: it is not a list of records")
        *earlier, record = records
        state = self.mode.load(record, owner, earlier)
        if record["sequence"] != newest:
            raise RecordRejected("the stored state is of another turn of the conversation")
        return state

    async def end_turn(self, owner: str, *, close: bool = False) -> None:
        """Release the resources of this turn; `close` also ends the session of the conversation.

        While an eval of another run of the agent uses the session, nothing is released: that run
        ends its own turn.
        """
        lock = self._locks.get(owner)
        if lock is not None and lock.busy:
            return
        known = self._known.get(owner)
        if known is not None:
            known.rest()
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


def _undone(outcome: Outcome) -> Outcome:
    """An outcome whose notice says that the next eval sees the variables of the last record."""
    if outcome.error is not None and outcome.state == "lost":
        cause = outcome.error.message.removesuffix(f"; {outcome.loss}")
        message = f"{cause}; variables are as they were before this call"
        error = attrs.evolve(outcome.error, message=message)
        return attrs.evolve(outcome, error=error, state="undone", loss="")
    notice = "Variables are as they were before this call."
    return attrs.evolve(outcome, notices=(*outcome.notices, notice))
