"""The items of a feed for one subscriber, in a buffer that drops the oldest ones."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Self, TypeAlias, TypeGuard

import attrs

__all__ = ["ConsoleText", "FeedItem", "Missed", "ProgressEvent", "Subscription"]

#: Characters that each item counts beside its own, so that many small ones are bounded, too.
_PER_ITEM: Final = 64
#: Characters from which a text in a buffer takes no more parts: each one copies it.
_JOINED: Final = 4096


@attrs.frozen
class ConsoleText:
    """Console output, in parts as they came or joined."""

    text: str


@attrs.frozen
class ProgressEvent:
    """A progress event, with the fields that its sender gave it."""

    fields: Mapping[str, Any]


@attrs.frozen
class Missed:
    """A gap: what a slow subscriber did not receive, at this place.

    Attributes:
        chars: Characters of console output.
        events: Progress events.
    """

    chars: int = 0
    events: int = 0


FeedItem: TypeAlias = ConsoleText | ProgressEvent | Missed


@attrs.define(eq=False, repr=False)
class Subscription:
    """The items of a feed for one subscriber; iterate over it with `async for`.

    Attributes:
        room: Characters that the buffer holds.
    """

    room: int
    _leave: Callable[[Subscription], None]
    _closed: bool = attrs.field(default=False, alias="closed")
    _items: deque[tuple[FeedItem, int]] = attrs.field(factory=deque, init=False)
    _size: int = attrs.field(default=0, init=False)
    _missed: Missed = attrs.field(factory=Missed, init=False)
    _waiting: asyncio.Future[None] | None = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def take(self, item: FeedItem, size: int) -> None:
        """Put an item into the buffer, from any thread; drop the oldest ones if it is full."""
        with self._lock:
            self._append(item, size)
            while self._size > self.room:
                self._drop()
            self._wake()

    def _append(self, item: FeedItem, size: int) -> None:
        last = self._items[-1][0] if self._items else None
        if isinstance(item, ConsoleText) and _joins(last):
            self._items[-1] = (ConsoleText(last.text + item.text), len(last.text) + size)
            self._size += size
            return
        self._items.append((item, size))
        self._size += size + _PER_ITEM

    def _drop(self) -> None:
        """Drop the oldest item, or the beginning of a text that is longer than needed."""
        item, size = self._items.popleft()
        excess = self._size - self.room
        if isinstance(item, ConsoleText) and size > excess:
            self._items.appendleft((ConsoleText(item.text[excess:]), size - excess))
            self._size -= excess
            self._missed = attrs.evolve(self._missed, chars=self._missed.chars + excess)
            return
        self._size -= size + _PER_ITEM
        if isinstance(item, ConsoleText):
            self._missed = attrs.evolve(self._missed, chars=self._missed.chars + size)
        else:
            self._missed = attrs.evolve(self._missed, events=self._missed.events + 1)

    def end(self) -> None:
        """Let the iteration end behind what is in the buffer."""
        with self._lock:
            self._closed = True
            self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.get_loop().is_closed():
            waiting.get_loop().call_soon_threadsafe(_set, waiting)

    def _next(self) -> FeedItem | None:
        """The next item; `None` if there is none yet."""
        if self._missed != Missed():
            missed, self._missed = self._missed, Missed()
            return missed
        if not self._items:
            return None
        item, size = self._items.popleft()
        self._size -= size + _PER_ITEM
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedItem:
        while True:
            with self._lock:
                item = self._next()
                if item is not None:
                    return item
                if self._closed:
                    raise StopAsyncIteration
                waiting = self._waiting = asyncio.get_running_loop().create_future()
            await waiting

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._leave(self)
        self.end()


def _joins(last: FeedItem | None) -> TypeGuard[ConsoleText]:
    """Whether more console output is added to the last item."""
    return isinstance(last, ConsoleText) and len(last.text) < _JOINED


def _set(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
