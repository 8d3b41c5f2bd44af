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

    def again(self) -> None:
        """Listen anew, because other resources are wanted."""
        self._changed.set()

    async def run(self) -> None:
        """Listen until the task is cancelled; at once done where changes come by themselves."""
        if self.client.session.discover_result is None:
            return
        pause = _FIRST_PAUSE
        while True:
            self._changed.clear()
            if wanted := self._wanted():
                await self._listen(wanted)
            else:
                await self._changed.wait()
            if self._changed.is_set():
                continue
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause)
            self.missed()

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

    async def _listen(self, wanted: dict[str, Any]) -> None:
        """Listen until the stream ends, or something else is wanted."""
        listening = asyncio.ensure_future(self._stream(wanted))
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({listening, changed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (listening, changed):
                task.cancel()
            await asyncio.gather(listening, changed, return_exceptions=True)

    async def _stream(self, wanted: dict[str, Any]) -> None:
        with suppress(MCPError, RuntimeError, TimeoutError):
            async with self.client.listen(**wanted) as subscription:
                async for event in subscription:
                    if isinstance(event, ToolsListChanged):
                        self.missed()
