"""The order of the commands to a worker."""

from __future__ import annotations

import threading
from collections import deque
from typing import ClassVar, Final, Protocol

__all__ = ["Asker", "CommandQueue", "ThreadAsker"]

#: Commands that a worker may hold: the one that it carries out, and the next ones.
_AT_ONCE: Final = 4


class Asker(Protocol):
    """The sender of a command to a worker. All methods may be called in any thread."""

    @property
    def ahead(self) -> bool:
        """Whether its command may be sent behind others, and others behind it, for now."""

    def begin(self) -> bool:
        """Send the command, without waiting; whether it was sent, or is under way."""

    def lead(self) -> None:
        """The next answer of the worker is for this asker."""

    def refuse(self) -> None:
        """Give up: `begin` has sent nothing."""

    def skip(self, number: int) -> bool:
        """The worker has skipped a command; whether it is that of this asker."""

    def look(self) -> None:
        """Go on, in the thread of somebody else who waits."""


class CommandQueue:
    """The turns of those who have a command for one worker: first come, first served.

    A worker reads its next command when it has answered the one before. Some are sent ahead, so
    that the worker need not wait for them.

    Whoever waits calls `look` from time to time, as the event loop of the asker that leads may have
    stopped, or be held up by the one who waits.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Asker] = deque()
        self._asking: deque[Asker] = deque()

    @property
    def taken(self) -> bool:
        """Whether the worker has a command."""
        return bool(self._asking)

    def take(self, asker: Asker) -> None:
        """Have an asker begin, at once or when its turn comes."""
        with self._lock:
            self._waiting.append(asker)
        self._move()

    def withdraw(self, asker: Asker) -> bool:
        """Take back the wish for a turn; whether it had not come yet."""
        with self._lock:
            try:
                self._waiting.remove(asker)
            except ValueError:
                return False
            return True

    def give_back(self, asker: Asker) -> None:
        """End a turn: the next asker leads."""
        self._move(asker)

    def let_in(self) -> None:
        """Have more askers begin, if there is room for them by now."""
        self._move()

    def _move(self, done: Asker | None = None) -> None:
        refused: list[Asker] = []
        with self._lock:
            before = self._leader
            if done is not None:
                self._asking.remove(done)
            while self._waiting and self._has_room(self._waiting[0]):
                asker = self._waiting.popleft()
                # In this lock, so that commands are sent in the order of the turns.
                (self._asking if asker.begin() else refused).append(asker)
            leader = self._leader
        if leader is not None and leader is not before:
            leader.lead()
        for asker in refused:
            asker.refuse()

    def _has_room(self, asker: Asker) -> bool:
        if not self._asking:
            return True
        return asker.ahead and len(self._asking) < _AT_ONCE and all(a.ahead for a in self._asking)

    @property
    def _leader(self) -> Asker | None:
        return self._asking[0] if self._asking else None

    def skip(self, number: int) -> bool:
        """End the turn of a command that the worker has skipped; whether there is one."""
        for asker in list(self._asking):
            if asker.skip(number):
                self._move(asker)
                return True
        return False

    def look(self) -> None:
        """Have the asker that leads go on, if it can."""
        leader = self._leader
        if leader is not None:
            leader.look()


class ThreadAsker:
    """A thread that waits for its turn."""

    ahead: ClassVar[bool] = False

    def __init__(self) -> None:
        self._come = threading.Event()

    def begin(self) -> bool:
        return True

    def lead(self) -> None:
        self._come.set()

    def refuse(self) -> None:
        """Do nothing: nothing is refused."""

    def skip(self, number: int) -> bool:
        return False

    def look(self) -> None:
        """Do nothing: the thread goes on by itself."""

    def wait(self, seconds: float) -> bool:
        """Wait for some time; whether the turn has come."""
        return self._come.wait(seconds)
