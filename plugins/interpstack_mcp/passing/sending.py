"""Messages of a server on their way to one client, in the order of their coming."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

import attrs

__all__ = ["SendQueue"]

_log = logging.getLogger("interpstack.mcp")
#: Messages that wait; what comes then is dropped, as a client that does not read has no use for it.
_MOST: Final = 1000
#: Seconds that a result waits for the messages before it.
_SECONDS: Final = 10.0


@attrs.define(eq=False)
class SendQueue:
    """Sends messages one after another, so that none comes after the result it belongs to."""

    _waiting: deque[tuple[Hashable, Callable[[], Awaitable[None]]]] = attrs.field(
        factory=deque, init=False
    )
    _task: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    def put(self, send: Callable[[], Awaitable[None]], once: Hashable = None) -> None:
        """Take a message.

        Args:
            send: Sends it.
            once: Identifies the news in it; a message with the same news that still waits makes
                this one needless.
        """
        if once is not None and any(once == other for other, _ in self._waiting):
            return
        if len(self._waiting) >= _MOST and once is None:
            _log.debug("a message of an MCP server is dropped: %d wait for the client", _MOST)
            return
        self._waiting.append((once, send))
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._send())

    async def flush(self) -> None:
        """Wait until everything is sent that was taken so far."""
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=_SECONDS)

    def close(self) -> None:
        """Drop what waits."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _send(self) -> None:
        while self._waiting:
            _, send = self._waiting.popleft()
            try:
                await send()
            except Exception as error:  # noqa: BLE001 - of the SDK and of the transport
                _log.debug("a message did not reach its MCP client: %r", error)
