"""The choice of an actor for a session: by its key, unless that actor has far more than others."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Final, TypeVar

from interpstack import Outcome, Wrapper

__all__ = ["choose", "key_of_session", "placed_by"]

_T = TypeVar("_T")

#: How far the load of an actor may be above the mean.
_SLACK: Final = 1.25

#: Key of the session whose cell begins now; empty outside of an eval.
key_of_session: ContextVar[str] = ContextVar("key_of_session", default="")


def placed_by(key: str) -> Wrapper[Outcome]:
    """A wrapper of evals that tells the engine the key of the session."""

    async def around(run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        before = key_of_session.set(key)
        try:
            return await run()
        finally:
            key_of_session.reset(before)

    return around


def choose(key: str, loads: Mapping[_T, int], name: Callable[[_T], str]) -> _T:
    """The place of a key: the first in an order of its own that is not far above the mean.

    When a place comes or goes, only its own keys move.

    Args:
        key: The key.
        loads: The number of keys at each place; at least one place.
        name: Returns the name of a place, by which it is ordered.
    """
    most = math.ceil(_SLACK * (sum(loads.values()) + 1) / len(loads))
    order = sorted(loads, key=lambda place: _rank(key, name(place)))
    return next(place for place in order if loads[place] < most)


def _rank(key: str, name: str) -> bytes:
    text = f"{name}\0{key}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).digest()
