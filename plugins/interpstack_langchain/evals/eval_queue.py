"""The order in which evals of one model turn run."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import attrs
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest

from interpstack import UnreadableLedger
from interpstack_langchain.evals.call_names import call_name, last_calls, unique_names
from interpstack_langchain.state.not_restored import StateNotRestored
from interpstack_langchain.tools.approvals import UnfitAnswer

__all__ = ["CallOrder", "Place"]

#: What an eval raises that will be run again.
_PAUSES = (
    GraphBubbleUp,
    StateNotRestored,
    UnfitAnswer,
    UnreadableLedger,
    asyncio.CancelledError,
)
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
    raised: type[BaseException] | None = None
    #: How often it was run, this time included.
    attempt: int = 1


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
        with self._lock:
            # Somebody may wait for this one already; a call that has ended is run once more.
            call = self._next((message, call_name(request)))
            while len(self._calls) > _MAX_CALLS:
                self._calls.popitem(last=False)
        _set(call.arrived)
        try:
            yield
        except BaseException as error:
            call.raised = type(error)
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

    async def wait(self, request: ToolCallRequest, done: Collection[str] = ()) -> Place | None:
        """Return once it is this eval's turn; `None` if its message is not known.

        Args:
            request: The model's call of the eval.
            done: Names of evals that ended in an earlier run of the step.

        Raises:
            GraphInterrupt: One before it is paused; this one runs when the graph is resumed.
        """
        message, ids = self._siblings(request)
        if not ids:
            return None
        index = ids.index(call_name(request))
        for earlier in ids[:index]:
            if earlier in done:
                continue
            raised = await self._end_of(message, earlier, ids[index])
            if raised is not None and issubclass(raised, _PAUSES):
                raise GraphInterrupt(())
        return Place(message, first=index == 0)

    def _next(self, key: tuple[str, str]) -> _Call:
        """The run of a call that is to come; one that has begun is of an earlier time."""
        call = self._calls.get(key)
        if call is None or call.arrived.done():
            call = _Call(attempt=1 if call is None else call.attempt + 1)
            self._calls[key] = call
        return call

    async def _end_of(self, message: str, call_id: str, waiting: str) -> type[BaseException] | None:
        """Wait for the end of an eval; what it raised, if it did."""
        with self._lock:
            mine = self._calls.get((message, waiting))
            call = self._calls.get((message, call_id))
            # All evals of a message come back after a pause, in any order: wait for this time's.
            if call is None or (call.raised and mine and call.attempt < mine.attempt):
                call = self._next((message, call_id))
        try:
            async with asyncio.timeout(self.GRACE_SECONDS):
                await asyncio.shield(asyncio.wrap_future(call.arrived))
        except TimeoutError:
            return None
        await asyncio.shield(asyncio.wrap_future(call.ended))
        return call.raised

    def _siblings(self, request: ToolCallRequest) -> tuple[str, list[str]]:
        """The message an eval stands in, and the names of its evals that have no answer yet."""
        message, calls = last_calls(request.state)
        names = unique_names(str(call["id"] or "") for call in calls)
        evals = [n for n, c in zip(names, calls, strict=True) if c["name"] == self._tool_name]
        if call_name(request) not in evals:
            return "", []
        return f"{message}:{evals[0]}", evals


def _set(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
