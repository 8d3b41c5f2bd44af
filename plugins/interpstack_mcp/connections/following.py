"""Changes that a server tells only to those who listen, as the protocol has it since 2026-07-28."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Set
from contextlib import suppress
from typing import Any, Final

import attrs
import mcp
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared.exceptions import MCPError

__all__ = ["Following"]

#: Seconds before the first and the longest pause until a lost stream is opened again.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
#: Seconds in which a server agrees to a stream.
_AGREED_SECONDS: Final = 10.0
#: Resources that one stream names.
_URIS: Final = 1000


@attrs.define(eq=False)
class Following:
    """Listens to the changes of one server; the SDK passes them on to its message handler.

    Attributes:
        client: The connected client.
        missed: Called when the tools have changed, or may have while nobody listened.
        uris: The resources whose updates are wanted; `None` to hear of changed tools only.
    """

    client: mcp.Client
    missed: Callable[[], None]
    uris: Callable[[], Set[str]] | None = None
    _changed: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _agreed: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    async def again(self) -> None:
        """Listen anew, because other resources are wanted; wait until the server has agreed."""
        if self.client.session.discover_result is None:
            return
        self._agreed.clear()
        self._changed.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(_AGREED_SECONDS):
                await self._agreed.wait()

    async def run(self) -> None:
        """Listen until the task is cancelled; at once done where changes come by themselves."""
        if self.client.session.discover_result is None:
            return
        pause, stream = _FIRST_PAUSE, None
        try:
            while True:
                self._changed.clear()
                old, stream = stream, await self._listen()
                await _end(old)  # only now, so that no change is missed in between
                self._agreed.set()
                await self._until_changed(stream)
                if not self._changed.is_set():  # the stream was lost
                    await self._until_changed(None, pause)
                    pause = min(_LONGEST_PAUSE, 2 * pause)
                    self.missed()
        finally:
            await _end(stream)

    async def _until_changed(
        self, stream: asyncio.Task[None] | None, seconds: float | None = None
    ) -> None:
        """Wait until something else is wanted, a stream ends, or the time is up."""
        changed = asyncio.ensure_future(self._changed.wait())
        waiting = {changed} if stream is None else {changed, stream}
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()

    def _wanted(self) -> dict[str, Any]:
        """The filter of the stream: changes that the server offers to tell of."""
        offers = self.client.server_capabilities
        wanted: dict[str, Any] = {}
        if offers.tools is not None and offers.tools.list_changed:
            wanted["tools_list_changed"] = True
        if self.uris is None:
            return wanted
        if offers.prompts is not None and offers.prompts.list_changed:
            wanted["prompts_list_changed"] = True
        if offers.resources is not None and offers.resources.list_changed:
            wanted["resources_list_changed"] = True
        if offers.resources is not None and offers.resources.subscribe and (uris := self.uris()):
            wanted["resource_subscriptions"] = sorted(uris)[:_URIS]
        return wanted

    async def _listen(self) -> asyncio.Task[None] | None:
        """A stream that the server has agreed to, or that has failed; `None` if none is wanted."""
        wanted = self._wanted()
        if not wanted:
            return None
        agreed = asyncio.Event()
        stream = asyncio.ensure_future(self._stream(wanted, agreed))
        stream.add_done_callback(lambda _: agreed.set())
        try:
            await agreed.wait()
        except asyncio.CancelledError:
            stream.cancel()
            raise
        return stream

    async def _stream(self, wanted: dict[str, Any], agreed: asyncio.Event) -> None:
        with suppress(MCPError, RuntimeError, TimeoutError):
            async with self.client.listen(**wanted) as subscription:
                agreed.set()
                async for event in subscription:
                    if isinstance(event, ToolsListChanged):
                        self.missed()


async def _end(stream: asyncio.Task[None] | None) -> None:
    if stream is not None:
        stream.cancel()
        await asyncio.gather(stream, return_exceptions=True)
