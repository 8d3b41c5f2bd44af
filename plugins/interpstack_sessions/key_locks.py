"""Locks on keys of a store, so that no other process does the same work at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from interpstack import to_end
from interpstack.checks import expect
from interpstack_sessions.claims import Claim, Terms, check_seconds
from interpstack_state import BlobStore, StateTaken, StoreUnavailable, check_key

__all__ = ["KeyLocks"]

#: The part of a claim's time that a block has to stop when the claim cannot be renewed.
_STOPPING: Final = 0.1


class KeyLocks:
    """Locks keys of a store for blocks of code, across processes.

    A server locks the key of a conversation during a turn of its agent. The state of the agent is
    elsewhere, such as in a checkpointer, so the rows in the store have none; `BlobStore.expire`
    removes them.

    Args:
        store: The store.
        claim_seconds: Seconds that a claim holds, unless it is renewed.
        patience_seconds: Seconds to wait for a key that another process, or another block, holds.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    def __init__(
        self, store: BlobStore, *, claim_seconds: float = 30.0, patience_seconds: float = 10.0
    ) -> None:
        expect(store, BlobStore, "store takes a BlobStore")
        check_seconds("claim_seconds", claim_seconds, 0.1)
        check_seconds("patience_seconds", patience_seconds, 0)
        self._terms = Terms(lambda: store, float(claim_seconds), float(patience_seconds))

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncIterator[None]:
        """Lock a key for a block; its claim is renewed meanwhile.

        Raises:
            StateBusy: Another process or block held the key for longer than `patience_seconds`.
            StateTaken: This process did not respond for longer than its claim held, and another
                process has the key now; the block was cancelled.
            StoreUnavailable: The store failed before the block, or did not renew the claim in time;
                then the block was cancelled, a tenth of `claim_seconds` before the claim ended.
        """
        check_key(key)
        claim = Claim(self._terms, key)
        await claim.take()
        try:
            async with asyncio.timeout_at(_end(claim)) as bound:
                move = partial(_move, bound, claim)
                async with claim.renewed(move, move):
                    yield
        except TimeoutError:
            if not bound.expired():
                raise  # of the block itself
            if not claim.token:
                raise StateTaken(key) from None
            raise StoreUnavailable(
                f"the claim of session {key!r:.80} was not renewed in time, so another process may "
                "hold it; this block was cancelled"
            ) from None
        finally:
            await to_end(claim.give_up())


def _end(claim: Claim) -> float:
    """When a block is to be cancelled: before its claim ends, or at once if it was lost."""
    return claim.until - _STOPPING * claim.terms.claim_seconds


def _move(bound: asyncio.Timeout, claim: Claim) -> None:
    """Move the end of a block with that of its claim, unless it is being cancelled already."""
    if not bound.expired():
        bound.reschedule(_end(claim))
