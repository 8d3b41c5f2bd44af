"""The order in which evals of one model turn run."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import attrs
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

__all__ = ["CallOrder", "Place"]

#: Evals that are remembered at once.
_MAX_CALLS = 4096


@attrs.frozen
class Place:
    """An eval's place among the evals of its message.

    Attributes:
        message: Identifies the model's message.
        first: Whether the model wrote no other eval before it.
    """

    message: str
    first: bool


@attrs.define(eq=False)
class _Call:
    arrived: Future[None] = attrs.field(factory=Future)
    ended: Future[None] = attrs.field(factory=Future)
    raised: bool = False


class CallOrder:
    """Lets the evals of one model message run one after another, as the model wrote them.

    They arrive in parallel, in any order, from any thread. Each waits until those before it have
    ended; one that does not even arrive is not waited for long: something in front of the
    middleware may have answered it.

    Args:
        tool_name: Name of the eval tool.
    """

    #: Seconds to wait for a call that does not come.
    GRACE_SECONDS = 1.0

    def __init__(self, tool_name: str) -> None:
        self._tool_name = tool_name
        self._calls: OrderedDict[tuple[str, str], _Call] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def taking_part(self, request: ToolCallRequest) -> Iterator[None]:
        """Announce an eval, and its end."""
        message, ids = self._siblings(request)
        if len(ids) < 2:
            yield
            return
        call = _Call()
        with self._lock:
            # Somebody may wait for this one already; a call that has ended is run once more.
            found = self._calls.get((message, request.tool_call["id"] or ""))
            if found is not None and not found.arrived.done():
                call = found
            self._calls[message, request.tool_call["id"] or ""] = call
            while len(self._calls) > _MAX_CALLS:
                self._calls.popitem(last=False)
        _set(call.arrived)
        try:
            yield
        except BaseException:
            call.raised = True
            raise
        finally:
            _set(call.ended)
            self._forget(message, ids)

    def _forget(self, message: str, ids: list[str]) -> None:
        """Forget a message when all its evals are done: if it is replayed, all run again.

        One that raised, such as an interrupt, comes back alone.
        """
        keys = [(message, call_id) for call_id in ids]
        with self._lock:
            calls = [self._calls.get(key) for key in keys]
            if all(call and call.ended.done() and not call.raised for call in calls):
                for key in keys:
                    del self._calls[key]

    async def wait(self, request: ToolCallRequest) -> Place | None:
        """Return once it is this eval's turn; `None` if its message is not known."""
        message, ids = self._siblings(request)
        if not ids:
            return None
        index = ids.index(request.tool_call["id"] or "")
        for earlier in ids[:index]:
            await self._end_of(message, earlier)
        return Place(message, first=index == 0)

    async def _end_of(self, message: str, call_id: str) -> None:
        with self._lock:
            call = self._calls.setdefault((message, call_id), _Call())
        try:
            async with asyncio.timeout(self.GRACE_SECONDS):
                await asyncio.shield(asyncio.wrap_future(call.arrived))
        except TimeoutError:
            return
        await asyncio.shield(asyncio.wrap_future(call.ended))

    def _siblings(self, request: ToolCallRequest) -> tuple[str, list[str]]:
        """The message an eval stands in, and the ids of its evals that have no answer yet."""
        state = request.state
        messages = state.get("messages", []) if isinstance(state, dict) else []
        message = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
        if message is None:
            return "", []
        answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
        calls = [c["id"] or "" for c in message.tool_calls if c["name"] == self._tool_name]
        ids = [call_id for call_id in calls if call_id not in answered]
        if request.tool_call["id"] not in ids or len(set(ids)) < len(ids):
            return "", []
        return f"{message.id}:{ids[0]}", ids


def _set(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
