"""The claim of one session in a store: under a token of its own, renewed while a cell runs."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import attrs

from interpstack import ConfigurationError, start_anew_after_fork, to_end
from interpstack.checks import shown
from interpstack_state import BlobStore, StateBusy, StateError, StateTaken, StoreThreads

__all__ = ["Claim", "Terms", "check_seconds"]

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
#: Threads for the calls of stores, for each plugin object.
_THREADS: Final = 8
#: Seconds between two attempts to claim a busy session.
_FIRST_LOOK, _LAST_LOOK = 0.01, 0.5


@attrs.define(eq=False)
class Terms:
    """The terms of all claims of a plugin object, and its threads.

    Attributes:
        open_store: Returns the store.
        claim_seconds: Seconds that a claim holds, unless it is renewed.
        patience_seconds: Seconds to wait for a busy session.
    """

    open_store: Callable[[], BlobStore]
    claim_seconds: float
    patience_seconds: float
    _threads: StoreThreads = attrs.field(
        factory=lambda: StoreThreads(_THREADS, "interpstack-sessions"), init=False
    )

    async def call(self, function: Callable[[BlobStore], _T]) -> _T:
        """Call the store in a thread."""
        return await self.run(lambda: function(self.open_store()))

    async def run(self, function: Callable[[], _T]) -> _T:
        """Run something in a thread; if the caller is cancelled, it is waited for."""
        return await self._threads.run(function)


@attrs.define(eq=False)
class Claim:
    """The claim of one session by this process.

    Attributes:
        terms: The store, and for how long.
        key: The session's.
        token: The token of the last claim; empty before the first, and after it was lost.
        until: The time of the event loop until which the claim holds at least.
    """

    terms: Terms
    key: str
    token: str = ""
    until: float = attrs.field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Leave the claim to the parent; called in the child of a fork."""
        self.token = ""

    async def take(self) -> bytes | None:
        """Claim the session under a new token, and return the saved state.

        Raises:
            StateBusy: Another process has used it for as long as this one may wait.
            StateError: The store failed, or refuses the state.
        """
        self.token = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(16)}"
        left, pause = self.terms.patience_seconds, _FIRST_LOOK
        try:
            while True:
                try:
                    return await self._claimed()
                except StateBusy as error:
                    if left <= 0:
                        raise
                    pause = min(2 * pause, _LAST_LOOK, left, max(error.wait_seconds, _FIRST_LOOK))
                    left -= pause
                    await asyncio.sleep(pause)
        except BaseException:
            await to_end(self.give_up())
            raise

    async def _claimed(self) -> bytes | None:
        seconds, began = self.terms.claim_seconds, _now()
        data = await self.terms.call(lambda store: store.claim(self.key, self.token, seconds))
        self.until = began + seconds
        return data

    async def renew(self, seconds: float | None = None) -> bool:
        """Let the claim hold on; with 0, give the session free. False if it was lost."""
        seconds, began = self.terms.claim_seconds if seconds is None else seconds, _now()
        kept = await self._kept(lambda store, token: store.renew(self.key, token, seconds))
        self.until = began + seconds if kept else 0.0
        return kept

    async def save(self, data: bytes, *, keep: bool) -> bool:
        """Save a state, and keep the claim or give the session free. False if it was lost."""
        seconds = self.terms.claim_seconds if keep else 0.0
        return await self._kept(lambda store, token: store.save(self.key, token, data, seconds))

    async def _kept(self, change: Callable[[BlobStore, str], None]) -> bool:
        token = self.token  # it may be dropped before the thread begins
        if not token:
            return False
        try:
            await self.terms.call(lambda store: change(store, token))
        except StateTaken:
            self.token = ""
            return False
        return True

    async def give_up(self) -> None:
        """Give the session free, if that is possible; else the claim ends by itself."""
        try:
            await self.renew(0.0)
        except StateError as error:
            _log.warning("the claim of session %r is left to end: %s", self.key, error)
        self.drop()

    def drop(self) -> None:
        """Forget the token: the state in memory counts no more."""
        self.token = ""

    @asynccontextmanager
    async def renewed(
        self, lost: Callable[[], None], renewed: Callable[[], None] = lambda: None
    ) -> AsyncIterator[None]:
        """Renew the claim again and again.

        Args:
            lost: Called once if another process has taken it.
            renewed: Called each time that it was renewed.
        """
        task = asyncio.create_task(self._renew_on(lost, renewed))
        try:
            yield
        finally:
            task.cancel()
            await to_end(asyncio.wait({task}))

    async def _renew_on(self, lost: Callable[[], None], renewed: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(self.terms.claim_seconds / 3)
            try:
                if not await self.renew():
                    lost()
                    return
                renewed()
            except StateError as error:
                _log.warning("the claim of session %r was not renewed: %s", self.key, error)


def _now() -> float:
    return asyncio.get_running_loop().time()


def check_seconds(name: str, value: float, least: float) -> None:
    """Refuse a value that is not a number of seconds.

    Raises:
        ConfigurationError: The value is not a number, or is too small.
    """
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not least <= value <= 10**9:
        raise ConfigurationError(f"{name} takes a number from {least}; got {shown(value)}")
