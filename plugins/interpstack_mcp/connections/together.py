"""Hands answers of parallel calls over together.

Each time the guest goes on with an answer costs much more than the answer itself. So an answer
waits a moment for the others, if there are calls that could still answer: the longer, the more of
them there are, and so the more time they still take.
"""

from __future__ import annotations

import asyncio
from typing import Final

import attrs

__all__ = ["Together"]

#: Seconds that an answer waits for others: for each call that is open, at least, and at most.
_EACH_SECONDS: Final = 0.00015
_LEAST_SECONDS: Final = 0.004
_MOST_SECONDS: Final = 0.02


@attrs.define(eq=False)
class Together:
    """The calls of one connection, each in an `async with` block, whose ends wait for each other.

    A block that was cancelled ends at once.
    """

    _open: int = attrs.field(default=0, init=False)
    _gate: asyncio.Event | None = attrs.field(default=None, init=False)

    async def __aenter__(self) -> None:
        self._open += 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        self._open -= 1
        if not self._open:
            self._release()
        elif error is None or isinstance(error, Exception):
            await self._join()

    async def _join(self) -> None:
        """Wait for the calls that end soon."""
        if self._gate is None:
            self._gate = asyncio.Event()
            seconds = min(max(_LEAST_SECONDS, self._open * _EACH_SECONDS), _MOST_SECONDS)
            asyncio.get_running_loop().call_later(seconds, self._release)
        await self._gate.wait()

    def _release(self) -> None:
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.set()
