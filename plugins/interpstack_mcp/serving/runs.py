"""Cells that a client has started: questions for the client, progress and output on the way."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

import attrs

from interpstack import GuestException, Outcome
from interpstack_mcp.serving.sendable import sendable

__all__ = ["ApprovalQuestion", "Outlasting", "ServedCell"]

_T = TypeVar("_T")

#: Parts of the console output that wait to be sent; the outcome has all of it.
_PARTS: Final = 1000


@attrs.define(eq=False)
class ApprovalQuestion:
    """A call that waits for the client's approval.

    Attributes:
        key: Identifies the question.
        text: The question for a person.
        answer: `True` for an approval; otherwise the reason why the call is refused.
    """

    text: str
    key: str = attrs.field(factory=lambda: secrets.token_hex(8))
    answer: asyncio.Future[bool | str] = attrs.field(
        factory=lambda: asyncio.get_running_loop().create_future()
    )

    _expiry: asyncio.TimerHandle | None = attrs.field(default=None, init=False)

    def expire(self, seconds: float, reason: str) -> None:
        """Refuse the call for a reason if there is no answer after some time; once."""
        if self._expiry is None:
            loop = asyncio.get_running_loop()
            self._expiry = loop.call_later(seconds, self.settle, reason)

    def settle(self, answer: bool | str) -> None:
        """Answer the question; a second answer changes nothing."""
        if self._expiry is not None:
            self._expiry.cancel()
        if not self.answer.done():
            self.answer.set_result(answer)


@attrs.define(eq=False)
class Outlasting(Generic[_T]):
    """Work for a client, in a task of its own, which outlasts the request that began it."""

    _task: asyncio.Task[_T] | None = attrs.field(default=None, init=False)
    _news: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    def start(self, work: Coroutine[Any, Any, _T]) -> None:
        """Begin the work."""
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(lambda _: self._news.set())

    @property
    def done(self) -> bool:
        """Whether the work has ended."""
        return self._task is not None and self._task.done()

    async def stop(self) -> None:
        """Cancel the work, and wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})


@attrs.define(eq=False)
class ServedCell(Outlasting[Outcome]):
    """One cell that a client has started; also the `host` of its session while it runs.

    Attributes:
        id: Identifies the cell for the client; random, so that no other client can guess it.
        needs_approval: Whether a call needs an approval, by the names of its bridge and its tool.
        calls: Calls that have ended.
        last: Name of the call that ended last.
        reported: Calls whose end the client knows of.
        followers: Requests of the client that wait for the cell.
        left: When the last of them ended, by `time.monotonic`.
    """

    needs_approval: Callable[[Iterable[str]], bool]
    id: str = attrs.field(factory=lambda: secrets.token_urlsafe(16))
    calls: int = 0
    last: str = ""
    reported: int = 0
    followers: int = 0
    left: float = 0.0
    _questions: dict[str, ApprovalQuestion] = attrs.field(factory=dict, init=False)
    _parts: deque[str] = attrs.field(factory=lambda: deque(maxlen=_PARTS), init=False)
    _loop: asyncio.AbstractEventLoop = attrs.field(
        factory=asyncio.get_running_loop, init=False, repr=False
    )

    def outcome(self) -> Outcome | None:
        """The outcome of a cell that has ended; `None` if it was stopped.

        Raises:
            InterpstackError: The cell could not be run.
        """
        if self._task is None or self._task.cancelled():
            return None
        return self._task.result()

    # -- the side of the cell --------------------------------------------------------------

    async def approve(self, name: str, shown: str) -> None:
        """Wait for the client's approval of a call.

        Raises:
            GuestException: The call is refused.
        """
        question = ApprovalQuestion(
            sendable(f"Code wants to call {name} with {shown}. Allow this call?")
        )
        self._questions[question.key] = question
        self._news.set()
        try:
            answer = await question.answer
        finally:
            del self._questions[question.key]
        if answer is not True:
            raise GuestException(f"{name} was not called: {answer}", rejected=True)

    def called(self, name: str) -> None:
        """Note the end of a call."""
        self.calls, self.last = self.calls + 1, name
        self._news.set()

    def hear(self, part: str) -> None:
        """Take a part of the console output, from any thread."""
        self._parts.append(part)
        self._loop.call_soon_threadsafe(self._news.set)

    def tell(self) -> None:
        """Note that the client knows of all calls that have ended."""
        self.reported = self.calls

    # -- the side of the client ------------------------------------------------------------

    @property
    def waits_for_client(self) -> bool:
        """Whether the cell waits for answers, and no request of the client is there to bring them.

        A client that is asked between two requests may never come back.
        """
        return not self.followers and bool(self.questions)

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Wait for the cell in the block, for a request of the client."""
        self.followers += 1
        try:
            yield
        finally:
            self.followers, self.left = self.followers - 1, time.monotonic()

    def wake(self) -> None:
        """Have the requests that wait for the cell look at it again."""
        self._news.set()

    @property
    def questions(self) -> list[ApprovalQuestion]:
        """The questions that have no answer yet."""
        return [one for one in self._questions.values() if not one.answer.done()]

    def printed(self) -> str:
        """The console output since the last call."""
        parts: list[str] = []
        while self._parts:
            parts.append(self._parts.popleft())
        return "".join(parts)

    async def news(self, seconds: float) -> None:
        """Wait until something has happened, or for some seconds."""
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self._news.wait()
        except TimeoutError:
            return
        self._news.clear()
