"""Unfinished runs of paused evals, in the graph's store.

They are too large for a checkpoint, and an eval can resume without them: its code is then
run again from its journal. So the run of an abandoned eval is removed after some days.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import attrs
from langgraph.store.base import BaseStore

__all__ = ["KEPT_DAYS", "PausedRun", "Sweep"]

#: How long an abandoned run is stored.
KEPT_DAYS: Final = 30
#: Where the store has the runs, and since when: to read the latter is cheap.
_RUNS: Final = ("interpstack", "suspended")
_SINCE: Final = ("interpstack", "suspended_since")
#: Abandoned runs are looked for so often at most, so many at once.
_SWEEP_SECONDS: Final = 3600.0
_PAGE: Final = 1000
_MAX_PAGES: Final = 20

#: Calls a store: a coroutine for the event loop, and a function for a thread.
Call = Callable[[Callable[[], Awaitable[Any]], Callable[[], Any]], Awaitable[Any]]


@attrs.define(eq=False, repr=False)
class Sweep:
    """The time of the last search for abandoned runs; one for all evals of a middleware."""

    last: float | None = None

    def due(self) -> bool:
        """Whether the next sweep is due; if so, count it as done."""
        now = time.monotonic()
        if self.last is not None and now - self.last < _SWEEP_SECONDS:
            return False
        self.last = now
        return True


@attrs.define(eq=False, repr=False)
class PausedRun:
    """The paused run of one eval, signed, in the graph's store.

    Attributes:
        store: The graph's.
        key: The key of the run in the store.
        eval_key: Identifies the eval, for the signature.
        signing_key: The signing key of the middleware, if it has one.
        call: Calls the store.
        sweep: The sweep of the middleware.
    """

    store: BaseStore
    key: str
    eval_key: str
    signing_key: bytes | None
    call: Call
    sweep: Sweep
    _is_there: bool = attrs.field(default=False, init=False)

    async def keep(self, text: str) -> None:
        """Store the run, in place of an earlier one."""
        await self._put(_SINCE, {"at": time.time()})  # first: no run is there without its date
        await self._put(_RUNS, {"text": text, "mac": self._mac(text)})
        self._is_there = True
        if self.sweep.due():
            await self._drop_abandoned()

    async def find(self) -> str | None:
        """The stored run; `None` if there is none or its signature is wrong."""
        item = await self.call(
            lambda: self.store.aget(_RUNS, self.key), lambda: self.store.get(_RUNS, self.key)
        )
        if item is None:
            return None
        self._is_there = True
        text, mac = str(item.value.get("text")), str(item.value.get("mac"))
        if not mac.isascii():  # `compare_digest` refuses it
            return None
        return text if hmac.compare_digest(mac, self._mac(text)) else None

    async def drop(self) -> None:
        """Remove the run, if it was stored or found."""
        if self._is_there:
            await self._drop(self.key)

    def _mac(self, text: str) -> str:
        key = self.signing_key or b"interpstack"
        return hmac.new(key, f"{self.eval_key}|{text}".encode(), "sha256").hexdigest()

    async def _drop_abandoned(self) -> None:
        """Remove abandoned runs."""
        oldest = time.time() - KEPT_DAYS * 86400
        abandoned: list[str] = []
        for page in range(_MAX_PAGES):
            found = await self._dates(page * _PAGE)
            abandoned += [one.key for one in found if one.value.get("at", 0) < oldest]
            if len(found) < _PAGE:
                break
        for key in abandoned:
            await self._drop(key)

    async def _dates(self, offset: int) -> list[Any]:
        store = self.store
        found: list[Any] = await self.call(
            lambda: store.asearch(_SINCE, limit=_PAGE, offset=offset),
            lambda: store.search(_SINCE, limit=_PAGE, offset=offset),
        )
        return found

    async def _put(self, place: tuple[str, ...], value: dict[str, Any]) -> None:
        store, key = self.store, self.key
        await self.call(
            lambda: store.aput(place, key, value, index=False),
            lambda: store.put(place, key, value, index=False),
        )

    async def _drop(self, key: str) -> None:
        store = self.store
        for place in (_RUNS, _SINCE):
            await self.call(partial(store.adelete, place, key), partial(store.delete, place, key))
