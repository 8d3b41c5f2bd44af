"""Stores the state of one session in a store of states, under a claim."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import attrs

from interpstack import (
    EngineFailure,
    GuestError,
    Image,
    ImageError,
    Outcome,
    SessionStorage,
    SessionView,
    StateSlot,
    UnsupportedValue,
)
from interpstack_sessions.claims import Claim
from interpstack_sessions.packing import pack, rejected, unpack
from interpstack_state import StateError

__all__ = ["ClaimedStorage"]

_log = logging.getLogger(__name__)
#: Bytes of the largest image that is saved with portable values beside it.
_VALUES_BESIDE: Final = 2**20
_LOST: Final = (
    "Variables of earlier cells are lost: another process continued this session before they "
    "were saved."
)
_TAKEN: Final = "another process continued the session while the cell ran"


def _wants_values(image: Image) -> bool:
    """Whether to save values for another build of the engine; they take time in large states."""
    return len(image.data) <= _VALUES_BESIDE


@attrs.define(eq=False)
class ClaimedStorage(SessionStorage):
    """Stores the state of one session in a store of states, under a claim.

    Attributes:
        session: The session.
        claim: Its claim in the store; without a token, the state in memory does not count.
        saves: When to save: after each `cell`, or when the session goes to `sleep`.
    """

    session: SessionView
    claim: Claim
    saves: Literal["cell", "sleep"]
    _slot: StateSlot | None = None  # during a use
    _unsaved: bool = False
    _ended: bool = False  # the cell's wrapper has done what follows a use

    async def enter(self, slot: StateSlot) -> None:
        self._ended = False
        if not (self.claim.token and await self.claim.renew()):
            await self._fetch(slot)
        self._slot = slot

    async def _fetch(self, slot: StateSlot) -> None:
        """Claim the session, and replace the state in memory by the saved one."""
        await self._let_go(slot)
        data = await self.claim.take()
        if data is None:
            return
        try:
            state = await self.claim.terms.run(lambda: unpack(self.session.key, data))
            for notice in await slot.restore(state):
                self.session.notify(notice)
        except (ImageError, UnsupportedValue, EngineFailure) as error:
            await self._refuse(slot)
            raise rejected(self.session.key, f"cannot be opened by this engine: {error}") from error
        except BaseException:
            await self._refuse(slot)
            raise

    async def _refuse(self, slot: StateSlot) -> None:
        await self.claim.give_up()
        await slot.clear()

    async def _let_go(self, slot: StateSlot) -> None:
        """Drop the state in memory, which another process has gone on from."""
        if self._unsaved:
            self.session.notify(_LOST)
        self._unsaved = False
        await slot.clear()

    async def around(self, run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Run a cell under the claim, and save what it left; a wrapper of evals."""
        slot, self._unsaved = self._slot, True
        if slot is None:
            raise RuntimeError("the session is not entered")
        try:
            async with asyncio.timeout(None) as bound:
                now = asyncio.get_running_loop().time
                async with self.claim.renewed(lambda: bound.reschedule(now())):
                    outcome = await run()
        except TimeoutError:
            if self.claim.token:
                raise
            error = GuestError("SessionTaken", f"the cell was stopped: {_TAKEN}")
            return await self._taken(slot, Outcome(error=error, stopped=True))
        if self.saves == "sleep":
            return outcome if self.claim.token else await self._taken(slot, outcome)
        try:
            saved = await self._save(slot, keep=False)
        except (StateError, EngineFailure) as error:
            _log.warning("session %r was not saved: %s", self.session.key, error)
            self._ended = True
            why = f"Variables are not saved yet, and are in the memory of one process: {error}."
            return attrs.evolve(outcome, notices=(*outcome.notices, why))
        self._ended = True
        return outcome if saved else await self._taken(slot, outcome)

    async def _taken(self, slot: StateSlot, outcome: Outcome) -> Outcome:
        self._ended, self._unsaved = True, False
        await slot.clear()
        loss = f"{_TAKEN}, and has the variables from before it"
        return attrs.evolve(outcome, state="lost", loss=loss)

    async def leave(self, slot: StateSlot, *, changed: bool) -> None:
        self._slot = None
        if self._ended:
            return
        self._unsaved = self._unsaved or changed
        if self.saves == "sleep":
            return
        try:
            if not await self._save(slot, keep=False):
                await self._let_go(slot)
        except Exception as error:  # noqa: BLE001 - the use has ended; its end is what counts
            _log.warning("session %r was not saved: %s", self.session.key, error)

    async def sleep(self, slot: StateSlot) -> None:
        if not self.claim.token:
            return  # nothing of it is here
        if not await self._save(slot, keep=False):
            await self._let_go(slot)
            return
        self.claim.drop()
        await slot.clear()

    async def _save(self, slot: StateSlot, *, keep: bool) -> bool:
        """Save the state if need be, and give the session free; False if it was taken."""
        if not self._unsaved:
            return await self.claim.renew(None if keep else 0.0)
        state = await slot.take(_wants_values)
        data = await self.claim.terms.run(lambda: pack(self.session.key, state))
        saved = await self.claim.save(data, keep=keep)
        self._unsaved = self._unsaved and not saved
        return saved
