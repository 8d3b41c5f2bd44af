"""Uses of a session's state, around which its keeper fetches and saves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import attrs

from interpstack.sessions.queue import SessionQueue
from interpstack.sessions.realm_slot import RealmSlot
from interpstack_core.threads import to_end
from interpstack_core.views import StateKeeper

__all__ = ["Uses"]


@attrs.frozen
class Uses:
    """Gives the state of a session to one user at a time; without a keeper, as it is in memory."""

    queue: SessionQueue
    state: RealmSlot
    keeper: StateKeeper | None

    def held(self, *, changes: bool = True) -> AbstractAsyncContextManager[None]:
        """Have the session to oneself, with its current state; see `SessionQueue.held`."""
        return self.queue.held() if self.keeper is None else self._kept(self.keeper, changes)

    @asynccontextmanager
    async def _kept(self, keeper: StateKeeper, changes: bool) -> AsyncIterator[None]:
        async with self.queue.held():
            await keeper.enter(self.state)
            try:
                yield
            except GeneratorExit:
                raise  # the event loop is gone
            except BaseException:
                await to_end(keeper.leave(self.state, changed=changes))
                raise
            await to_end(keeper.leave(self.state, changed=changes))

    async def sleep(self) -> bool:
        """Let the realm go, to the keeper or to an image in memory; False if there is none."""
        if self.state.realm is None:
            return False
        try:
            if self.keeper is not None:
                await self.keeper.sleep(self.state)
        finally:
            await self.state.hibernate()
        return True

    async def end(self) -> None:
        """Let go of the state, which only a keeper may still have."""
        try:
            if self.keeper is not None:
                await self.keeper.sleep(self.state)
        finally:
            await self.state.clear()
