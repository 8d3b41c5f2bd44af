"""Hands answers of parallel calls over together.

Each time the guest goes on with an answer costs much more than the answer itself. So an answer
waits a moment for the others, if there are calls that could still answer: the longer, the more of
them there are, and so the more time they still take.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs

__all__ = ["Together"]

#: Seconds that an answer waits for others: for each call that is open, at least, and at most.
_EACH_SECONDS: Final = 0.00015
_LEAST_SECONDS: Final = 0.004
_MOST_SECONDS: Final = 0.02


@attrs.define(eq=False)
class Together:
    """The calls of one connection, and the answers that wait for each other."""

    _open: int = attrs.field(default=0, init=False)
    _gate: asyncio.Event | None = attrs.field(default=None, init=False)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count a call while its answer is awaited."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._release()

    async def join(self) -> None:
        """Wait for the answers that come soon; at once if no call is open."""
        if not self._open and self._gate is None:
            return
        if self._gate is None:
            self._gate = asyncio.Event()
            seconds = min(max(_LEAST_SECONDS, self._open * _EACH_SECONDS), _MOST_SECONDS)
            asyncio.get_running_loop().call_later(seconds, self._release)
        await self._gate.wait()

    def _release(self) -> None:
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.set()
