"""Slots with a queue of waiters, on any thread and any event loop, without deadlocks."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from itertools import takewhile
from typing import Any

import attrs

from interpstack.contracts.errors import ConfigurationError
from interpstack.sync import blocked_loops
from interpstack.threads import start_anew_after_fork

__all__ = ["Slots", "WaitGraph"]

#: Seconds between two checks whether the loop of a slot's holder was closed.
_LOOK_SECONDS = 0.2


@attrs.define(eq=False, repr=False)
class _Ticket:
    """A place in a queue, the loop of its owner, and the signal for which the owner waits."""

    loop: asyncio.AbstractEventLoop = attrs.field(factory=asyncio.get_running_loop)
    given: Future[None] | None = None


class Slots:
    """A number of slots, handed out strictly in order, to any thread and any event loop.

    A slot whose holder's loop was closed is free: nothing on that loop can ever give it back.

    Args:
        count: Slots that may be held at once.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self.start_anew()
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Forget all holders and waiters, which a child does not have after a fork."""
        self._lock = threading.Lock()
        self._waiting: deque[_Ticket] = deque()
        self._held: list[_Ticket] = []

    @property
    def busy(self) -> bool:
        """Whether a slot is held."""
        return bool(self._held)

    @asynccontextmanager
    async def slot(
        self, waiting: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> AsyncIterator[None]:
        """Hold a slot, after earlier waiters.

        Args:
            waiting: Makes a context manager, which is entered while the caller waits.

        Raises:
            ConfigurationError: A holder or earlier waiter is on a loop that waits for this caller.
        """
        ticket = _Ticket()
        with self._lock:
            self._waiting.append(ticket)
            self._hand_out()
            signal = ticket.given = Future[None]() if ticket in self._waiting else None
        try:
            if signal is not None:
                with waiting():
                    await self._wait(ticket, asyncio.wrap_future(signal))
            yield
        finally:
            with self._lock:
                for tickets in (self._held, self._waiting):
                    if ticket in tickets:
                        tickets.remove(ticket)
                self._hand_out()

    async def _wait(self, ticket: _Ticket, given: asyncio.Future[None]) -> None:
        while not given.done():
            with self._lock:
                before_it = takewhile(lambda other: other is not ticket, self._waiting)
                ahead = {other.loop for other in (*self._held, *before_it)}
            if ahead & blocked_loops.get():
                raise ConfigurationError(
                    "this synchronous call would wait for a cell that runs on the event loop of "
                    "the same thread, which waits for the call; await the asynchronous form, as in "
                    "`await session.eval(…)` or `await stack.aclose()`"
                )
            # The closing of a loop sends no signal.
            await asyncio.wait({given}, timeout=None if ahead == {ticket.loop} else _LOOK_SECONDS)
            with self._lock:
                self._hand_out()

    def _hand_out(self) -> None:
        self._held = [held for held in self._held if not held.loop.is_closed()]
        while self._waiting and len(self._held) < self._count:
            ticket = self._waiting.popleft()
            if not ticket.loop.is_closed():
                self._held.append(ticket)
                if ticket.given is not None:
                    ticket.given.set_result(None)


class WaitGraph:
    """The graph of waiters and holders; no waiter may wait for itself, even indirectly."""

    def __init__(self) -> None:
        self.start_anew()
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Forget who waits, as the child of a fork must."""
        self._lock = threading.Lock()
        self._waits: list[tuple[Any, Any]] = []

    @contextmanager
    def waiting(self, waiters: Sequence[Any], target: Any) -> Iterator[None]:
        """Wait for `target` on behalf of `waiters`.

        Raises:
            ConfigurationError: `target` waits for one of them; the message has their keys.
        """
        edges = [(waiter, target) for waiter in waiters]
        with self._lock:
            way = self._way(target, waiters)
            if way:
                names = " waits for ".join(repr(session.key) for session in way)
                raise ConfigurationError(
                    f"this eval would never end: session {names}, which waits for "
                    f"{target.key!r}; let one of them continue without the other"
                )
            self._waits += edges
        try:
            yield
        finally:
            with self._lock:
                for edge in edges:
                    self._waits.remove(edge)

    def _way(self, start: Any, ends: Sequence[Any]) -> list[Any]:
        """The waiters on a path from `start` to one of `ends`; empty if there is none."""
        ways, seen = [[start]], {start}
        for way in ways:
            for waiter, target in self._waits:
                if waiter is way[-1] and target not in seen:
                    if target in ends:
                        return [*way, target]
                    seen.add(target)
                    ways.append([*way, target])
        return []
