"""Keys of a store that a host holds for a while, so that no other process does the same work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from interpstack_core import to_end
from interpstack_core.checks import expect
from interpstack_sessions.claims import Claim, Terms, check_seconds
from interpstack_stores import SessionStore, SessionTaken, check_key

__all__ = ["HeldKeys"]


class HeldKeys:
    """Holds keys of a store for blocks of code, one process at a time.

    A server holds the key of a conversation during a turn of its agent. The state of the agent is
    elsewhere, such as in a checkpointer, so the rows in the store have none; `SessionStore.expire`
    removes them.

    Args:
        store: The store.
        claim_seconds: Seconds that a claim holds, unless it is renewed.
        patience_seconds: Seconds to wait for a key that another process, or another block, holds.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    def __init__(
        self, store: SessionStore, *, claim_seconds: float = 30.0, patience_seconds: float = 10.0
    ) -> None:
        expect(store, SessionStore, "store takes a SessionStore")
        check_seconds("claim_seconds", claim_seconds, 0.1)
        check_seconds("patience_seconds", patience_seconds, 0)
        self._terms = Terms(lambda: store, float(claim_seconds), float(patience_seconds))

    @asynccontextmanager
    async def held(self, key: str) -> AsyncIterator[None]:
        """Hold a key for a block; the claim is renewed meanwhile.

        Raises:
            SessionBusy: Another process or block held the key for longer than `patience_seconds`.
            SessionTaken: This process did not respond for longer than its claim held, and another
                process has the key now; the block was cancelled.
            StoreUnavailable: The store failed.
        """
        check_key(key)
        claim = Claim(self._terms, key)
        await claim.take()
        try:
            async with asyncio.timeout(None) as bound:
                now = asyncio.get_running_loop().time
                async with claim.renewed(lambda: bound.reschedule(now())):
                    yield
        except TimeoutError:
            if claim.token:
                raise  # of the block itself
            raise SessionTaken(key) from None
        finally:
            await to_end(claim.give_up())
