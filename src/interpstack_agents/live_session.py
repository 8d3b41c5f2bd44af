"""One live session, and the stored state that its variables match."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any

import attrs

from interpstack import (
    Cell,
    ConfigurationError,
    Outcome,
    Session,
    SessionState,
)
from interpstack.threads import run_guest
from interpstack_agents.eval_queue import QueuePosition
from interpstack_agents.persistence import Persistence
from interpstack_agents.records import Record, joined, token_of

__all__ = ["LiveSession", "SavedState", "Use"]


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
class Use:
    """The eval that uses a live session."""

    mode: Persistence
    owner: str
    turn: str
    keeps: bool
    position: QueuePosition | None


@attrs.define(eq=False, repr=False)
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
        contested: Whether the adapter may have stored another record in place of the newest, made
            by another run of the same eval.
        warned: The reader knows that the state is too large to be stored.
        last: The position of the eval that ran last, if it has one.
        before: The tokens before that eval and before earlier ones of its message.
        use: The eval that uses the session, or used it last.
    """

    session: Session
    token: str
    sequence: int = 0
    records: Sequence[Record] | None = None
    spoiled: bool = False
    detached: bool = False
    entered: bool = False
    contested: bool = False
    warned: bool = False
    last: QueuePosition | None = None
    before: frozenset[str] = frozenset()
    use: Use | None = None

    def begin(self, use: Use, records: Sequence[Record]) -> None:
        """Record which eval is about to use the session, and the records before that eval."""
        self.use = use
        if self.records is None:  # these are stored
            self.records, self.contested = records, False

    def follow(self, before: LiveSession, records: Sequence[Record]) -> LiveSession:
        """Replace a session with the same stored state."""
        self.records, self.warned = records, before.warned
        self.last, self.before, self.contested = before.last, before.before, before.contested
        return self

    def rest(self) -> None:
        """Let the records go until the next turn."""
        self.records = None

    @property
    def rests(self) -> bool:
        """Whether no turn uses the session, and its state is stored or was given up."""
        return self.records is None and not (self.entered or self.detached)

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
        again: bool = False,
    ) -> tuple[Outcome, Record | None]:
        """Run a cell, and make the record of the state after it.

        Args:
            cell: Source text, or a cell.
            host: See `Session.eval`; also for `on_console`.
            undoes: Says of an outcome whether the cell will run again, from the state before it.
            again: Whether another run of the same eval may store a record before this one does, so
                that the adapter drops this one. The next record does not build on it.

        Returns:
            The outcome, and the record that the adapter is to store; `None` where nothing is
            stored. A state that cannot be had leaves the variables as they were, and the outcome
            says so.

        Raises:
            ConfigurationError: The session was not entered by `LiveSessions.enter`.
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
            return await self._recorded(outcome, kept, use, again)

    async def reset(self) -> None:
        """Forget all variables, also stored ones that could not be restored."""
        async with self.session as session:
            await session.reset()
        if self.detached:
            self.detached, self.records = False, ()

    async def _recorded(
        self, outcome: Outcome, state: SessionState, use: Use, again: bool
    ) -> tuple[Outcome, Record]:
        """An outcome, and the record of the state after it."""
        # Dumping a large state takes many milliseconds, because it is compressed and signed. That
        # only computes, so a guest's thread does it: the way back is shorter than a handler's.
        records = () if self.contested else self.records or ()
        dump = partial(use.mode.dump, state, use.owner, self.sequence + 1, records)
        dumped, notice = await run_guest(partial(copy_context().run, dump), lambda: None)
        record = {**dumped, "id": secrets.token_hex(8)}
        if not use.mode.outlives_turn:
            record["turn"] = use.turn
        self.advance(record, use.position)
        self.contested = again
        if notice and not self.warned:
            outcome = attrs.evolve(outcome, notices=(*outcome.notices, notice))
        self.warned = bool(notice)
        return outcome, record

    def fits(self, token: str, position: QueuePosition | None) -> bool:
        """Whether the session is at `token`, or at an earlier eval of the same message.

        All evals of one message see the state from before the first of them, or from after those
        that ended in an earlier run. An eval that runs again does not follow its own first run.
        """
        return self.token == token or (token in self.before and self._precedes(position))

    def advance(self, record: Record, position: QueuePosition | None) -> None:
        """Record that the session's variables now match another record."""
        self.before = frozenset({self.token, *(self.before if self._precedes(position) else ())})
        self.last = position
        self.token, self.sequence = token_of([record]), record["sequence"]
        self.records = joined(list(self.records or ()), [[record]])

    def _precedes(self, position: QueuePosition | None) -> bool:
        """Whether the eval that ran last comes before another one in the same message."""
        return position is not None and self.last is not None and position.follows(self.last)


def _undone(outcome: Outcome) -> Outcome:
    """An outcome whose notice says that the next eval sees the variables of the last record."""
    if outcome.error is not None and outcome.state == "lost":
        cause = outcome.error.message.removesuffix(f"; {outcome.loss}")
        message = f"{cause}; variables are as they were before this call"
        error = attrs.evolve(outcome.error, message=message)
        return attrs.evolve(outcome, error=error, state="undone", loss="")
    notice = "Variables are as they were before this call."
    return attrs.evolve(outcome, notices=(*outcome.notices, notice))
