"""The queue of a session: one user at a time, and no user who would wait for himself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial

import attrs

from interpstack.contracts.engine import Execution
from interpstack.contracts.errors import ConfigurationError, SessionClosed
from interpstack.slots import Slots, WaitGraph
from interpstack.threads import start_anew_after_fork

__all__ = ["SessionQueue"]

#: Uses of sessions that the current code was begun in; bridge handlers inherit it.
_uses: ContextVar[tuple[_Use, ...]] = ContextVar("interpstack_uses", default=())
#: Which of them wait for which.
_waits = WaitGraph()


@attrs.define(eq=False, repr=False)
class _Use:
    """One use of a session; code that it has begun may go on after its end."""

    queue: SessionQueue
    over: bool = False


@attrs.define(eq=False, repr=False)
class SessionQueue:
    """Gives a session to one user at a time, in the order in which they came.

    Attributes:
        key: The session's.
        lost: Abandons the realm of a user that was lost with its event loop or in a fork.
        left: Called each time a user has left the session normally.
        closed: Whether the session is refused to all users.
        slots: Has one slot; without the check for users that wait for themselves.
    """

    key: str
    lost: Callable[[], None]
    left: Callable[[], Awaitable[None]]
    closed: bool = False
    slots: Slots = attrs.field(factory=lambda: Slots(1))
    _entered: bool = False
    _execution: Execution | None = None

    def __attrs_post_init__(self) -> None:
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Forget the execution, which runs in the parent; called in the child of a fork."""
        self._execution = None

    def check_open(self) -> None:
        """Raise `SessionClosed` if the session was closed."""
        if self.closed:
            raise SessionClosed(f"session {self.key!r} was closed; ask the stack for a new one")

    def began(self, execution: Execution) -> None:
        """Note what runs in the realm, to stop it if its user is lost."""
        self._execution = execution

    @contextmanager
    def running(self) -> Iterator[None]:
        """A cell runs, whose handlers must not wait for this session."""
        use = _Use(self)
        token = _uses.set((*(one for one in _uses.get() if not one.over), use))
        try:
            yield
        finally:
            use.over = True
            with suppress(ValueError):  # thrown away with its event loop, and so elsewhere
                _uses.reset(token)

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Lock the session for one user, after those that wait.

        Raises:
            ConfigurationError: The caller would wait for itself.
            SessionClosed: It was closed.
        """
        async with self._slot():
            self.check_open()
            self._abandon()
            self._entered = True
            try:
                yield
            except GeneratorExit:
                raise  # the event loop is closed: what runs in the realm runs on
            except BaseException:
                self._entered, self._execution = False, None
                raise
            self._entered, self._execution = False, None
        await self.left()

    @asynccontextmanager
    async def lock_to_close(self) -> AsyncIterator[bool]:
        """Lock the session to close it; yield False if it is closed already."""
        async with self._slot():
            self._abandon()
            with self.running():
                yield not self.closed

    def close(self) -> None:
        """Refuse the session to all users from now on."""
        self.closed = True

    def _slot(self) -> AbstractAsyncContextManager[None]:
        running = [use.queue for use in _uses.get() if not use.over]
        if self in running:
            raise ConfigurationError(
                f"session {self.key!r} is used by a bridge of its own running cell, which would "
                "wait for itself; use another session"
            )
        return self.slots.slot(partial(_waits.waiting, running, self))

    def _abandon(self) -> None:
        if self._entered:
            if self._execution is not None:
                self._execution.interrupt()  # it may still compute; its thread ends by itself
            self.lost()
