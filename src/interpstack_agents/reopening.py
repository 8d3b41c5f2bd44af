"""Brings the session of a conversation to the state that is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import attrs

from interpstack import (
    EngineFailure,
    HostOffer,
    ImageError,
    InterpreterStack,
    Session,
    SessionState,
    UnsupportedValue,
    call_blocking,
)
from interpstack_agents.eval_queue import QueuePosition
from interpstack_agents.live_session import LiveSession, SavedState, Use
from interpstack_agents.persistence import Persistence, RecordRejected
from interpstack_agents.records import Record, are_records, token_of

__all__ = ["Reopening", "Visit"]

#: Notices are shown once; the next record is of this interpreter.
_FOREIGN: Final = (
    "Variables of earlier turns were stored by another interpreter and are not available."
)
_ENDED: Final = (
    "Variables of earlier turns are not available: the last turn with code ran in a mode that "
    "keeps none, and replaced them."
)


@attrs.frozen
class Visit:
    """One use of the session of a conversation, by an eval.

    Attributes:
        owner: Identifies the conversation.
        saved: The state that is stored.
        offer: The offer to bind to the session.
        keeps: Whether the state is stored after each eval.
        position: Position of the eval among the evals of its message.
        refuse: Makes the error to raise where the stored variables cannot be restored; `None` to
            start without them.
    """

    owner: str
    saved: SavedState
    offer: HostOffer
    keeps: bool
    position: QueuePosition | None
    refuse: Callable[[Exception], Exception] | None


@attrs.frozen
class Reopening:
    """Opens sessions in states that were stored.

    Attributes:
        stack: The stack that makes the sessions.
        mode: The persistence mode that the states are stored by.
        keys: The prefix of the sessions' keys in the stack.
    """

    stack: InterpreterStack
    mode: Persistence
    keys: str

    async def at(self, visit: Visit, known: LiveSession | None) -> LiveSession:
        """The session of a conversation, in the state that is stored.

        Args:
            visit: The eval that comes to use it.
            known: The session as the last eval left it; `None` without any.
        """
        records = self._records(visit.saved)
        token = token_of(records)
        if not self.mode.outlives_turn:
            token = token or visit.saved.turn
        if known is None or not known.fits(token, visit.position):
            known = await self._open(visit, token, records, visit.saved.newest)
            if (
                visit.saved.foreign
                and self.mode.outlives_turn
                and not (records or visit.saved.newest)
            ):
                known.session.notify(_FOREIGN)
        elif known.spoiled:
            known = await self._again(visit, known, records)
        else:
            known.session.bind(visit.offer)
        known.begin(
            Use(self.mode, visit.owner, visit.saved.turn, visit.keeps, visit.position), records
        )
        return known

    async def _open(
        self, visit: Visit, token: str, records: Sequence[Record], newest: int
    ) -> LiveSession:
        session = self.stack.session(self.keys + visit.owner)
        await session.reset()
        session.bind(visit.offer)
        known = LiveSession(session, token, newest)
        if not (records or (newest and self.mode.outlives_turn)):
            return known
        try:
            state = await call_blocking(partial(self._load, visit.owner, records, newest))
            if state == SessionState():
                notices: tuple[str, ...] = ("Variables of earlier turns were too large to keep.",)
            elif self.mode.outlives_turn and "turn" in records[-1]:
                notices = (_ENDED,)  # the record of a turn, which another mode has made
            else:
                notices = await self._restored(session, state)
        except (RecordRejected, ImageError, EngineFailure, UnsupportedValue) as error:
            await session.reset()
            if visit.refuse is not None:
                raise visit.refuse(error) from error
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

    async def _again(
        self, visit: Visit, known: LiveSession, records: Sequence[Record]
    ) -> LiveSession:
        """The session in the state after its last completed eval."""
        records = records if known.records is None else known.records
        again = await self._open(visit, known.token, records, known.sequence)
        return again.follow(known, records)

    def _records(self, saved: SavedState) -> Any:
        """The records that apply to this turn."""
        records = saved.records or []
        if self.mode.outlives_turn or not are_records(records):
            return records
        return [record for record in records if record.get("turn") == saved.turn]

    def _load(self, owner: str, records: Any, newest: int) -> SessionState:
        if not records or not are_records(records):
            raise RecordRejected("the stored state is damaged: it is not a list of records")
        *earlier, record = records
        state = self.mode.load(record, owner, earlier)
        if record["sequence"] != newest:
            raise RecordRejected("the stored state is of another turn of the conversation")
        return state
