"""A feed of what a running cell does, for any number of subscribers, fast and slow."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect, positive
from interpstack_agents.feeds.subscription import ConsoleText, ProgressEvent, Subscription

__all__ = ["Feed"]


@attrs.define(eq=False, repr=False)
class Feed:
    """Passes console output and progress events on to subscribers, and never waits for one.

    `console` and `event` may be called from any thread. Each subscriber has a buffer of its own.
    When it is full, its oldest items are dropped, and the subscriber receives a `Missed` that
    counts them in their place.

    Args:
        buffer_chars: Characters that the buffer of one subscriber holds, at least 1,024.
        max_subscribers: Subscribers at once.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    buffer_chars: int = attrs.field(
        default=65_536, kw_only=True, validator=positive(int, 1024, optional=False, of="a feed")
    )
    max_subscribers: int = attrs.field(
        default=64, kw_only=True, validator=positive(int, optional=False, of="a feed")
    )
    _subscribers: list[Subscription] = attrs.field(factory=list, init=False)
    _closed: bool = attrs.field(default=False, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def console(self, text: str) -> None:
        """Pass console output on; fits `Session.eval(on_console=…)`."""
        expect(text, str, "console takes text")
        for subscriber in self._each():
            subscriber.take(ConsoleText(text), len(text))

    def event(self, fields: Mapping[str, Any]) -> None:
        """Pass a progress event on; fits `Progress.send`.

        Raises:
            ConfigurationError: The fields are not a mapping.
        """
        expect(fields, Mapping, "event takes a mapping of fields")
        subscribers = self._each()
        if subscribers:
            size = len(json.dumps(dict(fields), default=str))
            for subscriber in subscribers:
                subscriber.take(ProgressEvent(fields), size)

    def subscribe(self) -> Subscription:
        """Receive what is passed on from now; use it in a `with` block.

        Raises:
            ConfigurationError: There are `max_subscribers` already.
        """
        with self._lock:
            if len(self._subscribers) >= self.max_subscribers:
                raise ConfigurationError(
                    f"this feed has {self.max_subscribers} subscribers already (max_subscribers); "
                    "end one of them first"
                )
            subscriber = Subscription(self.buffer_chars, self._unsubscribe, closed=self._closed)
            self._subscribers.append(subscriber)
        return subscriber

    def _unsubscribe(self, subscriber: Subscription) -> None:
        """Pass nothing on to a subscriber any more."""
        with self._lock:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

    def close(self) -> None:
        """End the feed: each subscriber receives the rest of its buffer, then the end."""
        with self._lock:
            self._closed = True
            subscribers = list(self._subscribers)
        for subscriber in subscribers:
            subscriber.end()

    def _each(self) -> list[Subscription]:
        with self._lock:
            return [] if self._closed else list(self._subscribers)
