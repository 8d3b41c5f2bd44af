"""Messages of a server, checked before the SDK acts on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import attrs
from mcp import types
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import BaseModel

from interpstack_mcp.limits import McpLimits
from interpstack_mcp.request_ids import NumericTexts

__all__ = ["checked_messages"]

#: Notifications that something comes of.
_HEARD: Final[Mapping[str, type[BaseModel]]] = {
    "notifications/cancelled": types.CancelledNotification,
    "notifications/elicitation/complete": types.ElicitCompleteNotification,
    "notifications/message": types.LoggingMessageNotification,
    "notifications/progress": types.ProgressNotification,
    "notifications/prompts/list_changed": types.PromptListChangedNotification,
    "notifications/resources/list_changed": types.ResourceListChangedNotification,
    "notifications/resources/updated": types.ResourceUpdatedNotification,
    "notifications/subscriptions/acknowledged": types.SubscriptionsAcknowledgedNotification,
    "notifications/tools/list_changed": types.ToolListChangedNotification,
}


@asynccontextmanager
async def checked_messages(
    transport: AbstractAsyncContextManager[tuple[Any, Any]], limits: McpLimits
) -> AsyncIterator[tuple[Any, Any]]:
    """A transport whose messages are checked.

    Notifications that nothing comes of, or that are malformed, are dropped: the SDK would log each.
    So are cancellations that the SDK would take for those of other requests.
    A result with too many content blocks becomes an error, because each costs the SDK much time.

    Args:
        transport: Yields the streams of messages from and to a server.
        limits: Limits of everything that a server sends.
    """
    async with transport as (incoming, outgoing):
        yield _Checked(incoming, limits.blocks), outgoing


@attrs.define(eq=False)
class _Checked:
    """A stream of messages, as the SDK reads it."""

    stream: Any
    blocks: int
    _ids: NumericTexts = attrs.field(factory=NumericTexts, init=False)

    @property
    def last_context(self) -> Any:
        """The context of the sender, where the transport passes it."""
        return getattr(self.stream, "last_context", None)

    async def receive(self) -> Any:
        while (item := self._checked(await self.stream.receive())) is None:
            pass
        return item

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def __aenter__(self) -> _Checked:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self.stream.__aexit__(*error)

    def __aiter__(self) -> _Checked:
        return self

    async def __anext__(self) -> Any:
        while (item := self._checked(await self.stream.__anext__())) is None:
            pass
        return item

    def _checked(self, item: Any) -> Any:
        """The item, what takes its place, or `None` if it is dropped."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCNotification):
            return item if _is_heard(message) and self._ids.allows(message) else None
        if isinstance(message, JSONRPCRequest):
            self._ids.allows(message)
        elif isinstance(message, JSONRPCResponse):
            content = message.result.get("content")
            if isinstance(content, list) and len(content) > self.blocks:
                told = f"the result has more than {self.blocks} content blocks (McpLimits.blocks)"
                error = ErrorData(code=INTERNAL_ERROR, message=told)
                return SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
        return item


def _is_heard(message: JSONRPCNotification) -> bool:
    kind = _HEARD.get(message.method)
    if kind is None:
        return False
    try:
        kind.model_validate({"method": message.method, "params": message.params}, by_name=False)
    except ValueError:
        return False
    return True
