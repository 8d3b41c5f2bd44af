"""Live sessions: interpreters in memory whose variables match a state that an adapter stored.

The stored state is the truth. A live session is only a cache of it: it carries the id of the
record it stands at, and is used only by a conversation that stands at the same record. So forks,
time travel and other processes all see their own state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from itertools import islice
from typing import Final

import attrs

from interpstack import Capability, ConfigurationError, HostOffer, InterpreterStack, Slots
from interpstack_agents.eval_queue import QueuePosition
from interpstack_agents.live_session import LiveSession, SavedState
from interpstack_agents.persistence import Persistence
from interpstack_agents.reopening import Reopening, Visit

__all__ = ["LiveSessions"]

#: Sessions that may be known at once; the ones used longest ago are closed.
_MAX_SESSIONS: Final = 4096
#: Sessions beyond which those between two turns are closed, the ones used longest ago first: their
#: state is stored, and a hibernated session saves little when it is used again.
_MAX_RESTING: Final = 256
#: The same number for engines that cannot hibernate: each session costs memory, and often a thread
#: or a process.
_MAX_LIVE: Final = 32


@attrs.define(eq=False, repr=False)
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
        saved = saved if keeps else SavedState(turn=saved.turn)
        visit = Visit(owner, saved, offer, keeps, position, refuse)
        async with self._locks.setdefault(owner, Slots(1)).slot():
            live = await self._at(visit)
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

    async def _at(self, visit: Visit) -> LiveSession:
        """The session of a conversation, in the state that is stored."""
        known = self._known.get(visit.owner)
        if known is not None and known.entered:
            known.leave(spoiled=visit.keeps)
        return await Reopening(self.stack, self.mode, self.keys).at(visit, known)

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
            await self._trim_resting()
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

    async def _trim_resting(self) -> None:
        """Close sessions beyond their number, between two turns of their conversations."""
        if not self.mode.outlives_turn:
            return
        counted: Collection[str] = self._known
        most = _MAX_RESTING
        if Capability.IMAGES not in self.stack.engine.capabilities:
            counted = [owner for owner, known in self._known.items() if known.session.live]
            most = _MAX_LIVE
        surplus = max(0, len(counted) - most)
        for owner in list(islice(filter(self._rests, counted), surplus)):
            if self._rests(owner):  # still: others were closed meanwhile
                async with self._locks[owner].slot():
                    await self._known.pop(owner).session.aclose()
                self._forget_lock(owner)

    def _rests(self, owner: str) -> bool:
        """Whether a conversation is between two turns, so that its state is a stored one."""
        known, lock = self._known.get(owner), self._locks.get(owner)
        return known is not None and known.rests and lock is not None and not lock.busy

    def _forget_lock(self, owner: str) -> None:
        lock = self._locks.get(owner)
        if lock is not None and not lock.busy:
            del self._locks[owner]
