"""Queue of the evals that one message of the model asks for."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

import attrs

__all__ = ["EvalQueue", "QueuePosition"]

#: Evals that are remembered at once.
_MAX_CALLS: Final = 4096


@attrs.frozen
class QueuePosition:
    """Position of an eval among the evals of its message.

    Attributes:
        message: Identifies the model's message.
        index: The number of evals before it in the message; `None` if they have no order.
    """

    message: str
    index: int | None

    def follows(self, other: QueuePosition) -> bool:
        """Whether the eval runs after another one of its message."""
        if self.message != other.message:
            return False
        return self.index is None or other.index is None or self.index > other.index


@attrs.define(eq=False, repr=False)
class _EvalRun:
    """One run of an eval."""

    arrived: Future[None] = attrs.field(factory=Future)
    ended: Future[None] = attrs.field(factory=Future)
    raised: type[BaseException] | None = None
    #: Whether an eval before it is paused, so that it runs later.
    is_pending: bool = False
    #: The run of the message that it belongs to, counted from 1.
    attempt: int = 1

    def wait_for_next_run(self) -> None:
        """Note that an eval before it is paused."""
        self.is_pending = True

    def fail(self, error: BaseException) -> None:
        """Note the class of the exception that the eval raised."""
        self.raised = type(error)


class EvalQueue:
    """A queue that runs the evals of one model message one after another, in the model's order.

    Evals arrive in parallel, in any order, from any thread. Each one waits until the earlier ones
    have ended. An eval that does not arrive may have been answered by something in front of the
    adapter; only the adapter can tell, so it is asked.

    Args:
        pauses: Exceptions with which an eval ends that will be run again.
        pending: Makes the exception for an eval behind one that was paused.
    """

    #: Seconds to wait for a call before the adapter is asked whether it still comes, and again
    #: before each further question.
    GRACE_SECONDS = 1.0

    def __init__(
        self, pauses: tuple[type[BaseException], ...], pending: Callable[[], BaseException]
    ) -> None:
        self._pauses = pauses
        self._pending = pending
        self._calls: OrderedDict[tuple[str, str], _EvalRun] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def taking_part(self, message: str, names: Sequence[str], name: str) -> Iterator[None]:
        """Announce an eval, and its end.

        Args:
            message: Identifies the model's message.
            names: Names of its evals, in the order in which the model wrote them.
            name: Name of this eval.
        """
        if len(names) < 2:
            yield
            return
        with self._lock:
            # Somebody may wait for this one already; a call that has ended is run once more.
            call = self._next(message, names, name)
            while len(self._calls) > _MAX_CALLS:
                self._calls.popitem(last=False)
        _set(call.arrived)
        try:
            yield
        except BaseException as error:
            call.fail(error)
            raise
        finally:
            _set(call.ended)
            self._forget(message, names)

    async def wait(
        self,
        message: str,
        names: Sequence[str],
        name: str,
        done: Collection[str] = (),
        is_coming: Callable[[str], bool | None] = lambda name: None,
    ) -> QueuePosition:
        """Wait until all earlier evals of the message have ended.

        Args:
            message: Identifies the model's message.
            names: Names of its evals, in the order in which the model wrote them.
            name: Name of this eval.
            done: Names of evals that ended in an earlier run of the message.
            is_coming: Whether an eval will still arrive; `None` if that is unknown. It is asked
                again and again; an exception from it ends the wait.

        Raises:
            BaseException: The exception of `pending`: an earlier eval is paused, so this one waits.
        """
        index = names.index(name)
        for earlier in names[:index]:
            if earlier in done:
                continue
            raised = await self._end_of(message, names, earlier, name, is_coming)
            if raised is not None and issubclass(raised, self._pauses):
                if call := self._calls.get((message, name)):
                    call.wait_for_next_run()
                raise self._pending()
        return QueuePosition(message, index)

    def _forget(self, message: str, names: Sequence[str]) -> None:
        """Forget a message when all its evals are done: if it is replayed, all run again.

        One that raised, such as an interrupt, comes back alone.
        """
        keys = [(message, call_id) for call_id in names]
        with self._lock:
            calls = [self._calls.get(key) for key in keys]
            if all(call and call.ended.done() and not call.raised for call in calls):
                for key in keys:
                    del self._calls[key]

    def _next(self, message: str, names: Sequence[str], name: str) -> _EvalRun:
        """The run of a call that is to come; one that has begun is of an earlier time."""
        call = self._calls.get((message, name))
        if call is None or call.arrived.done():
            call = _EvalRun(attempt=self._attempt(message, names, name))
            self._calls[message, name] = call
        return call

    def _attempt(self, message: str, names: Sequence[str], name: str) -> int:
        """The run of the message in which a call comes next.

        Not all calls take part in each run. A run in which the call has begun, or in which one
        behind it has run to its end, is over for the call.
        """
        calls = {each: self._calls.get((message, each)) for each in names}
        last = max((call.attempt for call in calls.values() if call), default=1)
        over = any(
            call and call.attempt == last and call.ended.done() and not call.is_pending
            for call in (calls[each] for each in names[names.index(name) + 1 :])
        )
        mine = calls[name]
        return last + 1 if over or (mine and mine.attempt == last) else last

    async def _end_of(
        self,
        message: str,
        names: Sequence[str],
        call_id: str,
        waiting: str,
        is_coming: Callable[[str], bool | None],
    ) -> type[BaseException] | None:
        """Wait for the end of an eval, and return the class of its exception, if it raised one."""
        with self._lock:
            mine = self._calls.get((message, waiting))
            call = self._calls.get((message, call_id))
            if call and call.ended.done() and mine and call.attempt < mine.attempt:
                # It ended in an earlier run of the message, and may be among those that run again.
                if not call.raised and is_coming(call_id) is False:
                    return None
                call = None
            if call is None:
                call = self._next(message, names, call_id)
        arrived = asyncio.wrap_future(call.arrived)
        while not (await asyncio.wait({arrived}, timeout=self.GRACE_SECONDS))[0]:
            if not is_coming(call_id):
                return None
        await asyncio.shield(asyncio.wrap_future(call.ended))
        return call.raised


def _set(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
