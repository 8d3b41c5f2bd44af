"""The hub that hands the events of runs to those who want them.

Telling never waits and never fails: a subscriber has room for a number of events, the oldest go
when it is full, and a function that raises receives no more events.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Final

from interpstack import ConfigurationError
from interpstack_workflows.events.events import (
    CancelledEvent,
    ErrorEvent,
    ResultEvent,
    WorkflowEvent,
)

__all__ = ["EventHub", "EventSubscription"]

_log = logging.getLogger("interpstack.workflows")
_ENDS: Final = (ResultEvent, ErrorEvent, CancelledEvent)
_HasEnded = Callable[[], Awaitable[bool]]


class EventSubscription:
    """Events as they come: an async iterator, and an async context manager.

    The iteration ends when the subscription is closed; that of a single run also ends with its run,
    or at once if the run has ended already.

    Args:
        hub: Sends the events.
        run_id: The run; `None` for all.
        capacity: Events that are queued for a slow reader.
        has_ended: Returns whether the run had ended before, so that no event of its end comes.

    Attributes:
        run_id: The run; `None` for all.
        missed: Number of events that were dropped because the reader was slow.
    """

    def __init__(
        self, hub: EventHub, run_id: str | None, capacity: int, has_ended: _HasEnded | None = None
    ) -> None:
        self._hub = hub
        self.run_id = run_id
        self._events: deque[WorkflowEvent] = deque()
        self._capacity = capacity
        self._has_ended = has_ended
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._more = asyncio.Event()
        self._closed = False
        self.missed = 0

    def take(self, event: WorkflowEvent) -> None:
        """Keep an event for the reader; called by the hub, from any thread."""
        if self._closed or self.run_id not in (None, event.run_id):
            return
        if len(self._events) >= self._capacity:
            self._events.popleft()
            self.missed += 1
        self._events.append(event)
        if self.run_id is not None and not event.depth and isinstance(event, _ENDS):
            self.close()
        elif threading.get_ident() == self._thread:
            self._more.set()
        else:
            self._loop.call_soon_threadsafe(self._more.set)

    def close(self) -> None:
        """End the iteration, after the events that are already queued."""
        self._closed = True
        self._hub.drop(self)
        self._more.set()

    def __aiter__(self) -> EventSubscription:
        return self

    async def __anext__(self) -> WorkflowEvent:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            if (has_ended := self._has_ended) is not None:
                self._has_ended = None  # an end from now on is an event
                if await has_ended():
                    self.close()
                continue
            self._more.clear()
            await self._more.wait()
        return self._events.popleft()

    async def __aenter__(self) -> EventSubscription:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class EventHub:
    """Hands events on.

    Args:
        sink: Takes all events; called in the thread of the run, and must return at once.
    """

    def __init__(self, sink: Callable[[WorkflowEvent], Any] | None = None) -> None:
        self._sink = sink
        self._subscriptions: tuple[EventSubscription, ...] = ()

    def hears(self) -> bool:
        """Return whether there are listeners; without any, events need not be made."""
        return self._sink is not None or bool(self._subscriptions)

    def emit(self, event: WorkflowEvent) -> None:
        """Hand on an event."""
        if self._sink is not None:
            try:
                self._sink(event)
            except Exception:  # noqa: BLE001 - of those who watch, none may end a run
                _log.exception("A function that takes events of workflows raised; it gets no more")
                self._sink = None
        for one in self._subscriptions:
            one.take(event)

    def subscribe(
        self,
        run_id: str | None = None,
        capacity: int = 1000,
        has_ended: _HasEnded | None = None,
    ) -> EventSubscription:
        """Events from now on.

        Args:
            run_id: The run; `None` for all.
            capacity: Events that are queued for a slow reader, at least 1.
            has_ended: Returns whether the run had ended before.

        Raises:
            ConfigurationError: The capacity is not a whole number, or is below 1.
        """
        if type(capacity) is not int or capacity < 1:
            raise ConfigurationError(f"capacity takes a whole number from 1; got {capacity!r:.40}")
        one = EventSubscription(self, run_id, capacity, has_ended)
        self._subscriptions = (*self._subscriptions, one)
        return one

    def drop(self, subscription: EventSubscription) -> None:
        """Hand nothing more to a subscription."""
        self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)

    def end(self, run_id: str) -> None:
        """End the subscriptions of a run: this process sends no more events of it."""
        for one in self._subscriptions:
            if one.run_id == run_id:
                one.close()

    def close(self) -> None:
        """End all subscriptions."""
        for one in self._subscriptions:
            one.close()
