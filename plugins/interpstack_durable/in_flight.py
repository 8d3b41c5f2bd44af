"""In-flight calls, which outlast the run of their cell.

A pause waits for running calls, but not forever. A call that runs longer is left running. If the
cell is run again in this process, the late result of that call is used instead of making the call
again. `InFlightCalls.record_late_results` records such results for runs in other processes.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

import attrs

from interpstack import CellRun, Image, Request, Settlement, StackView, Step, to_end
from interpstack_durable.journal import Journal

__all__ = ["InFlightCall", "InFlightCalls", "InFlightRegistry", "in_flight_of"]

#: Calls that a registry holds at most; the oldest ones are dropped first.
_MAX_CALLS: Final = 1024
#: Suspended cells whose attachments a registry holds at most.
_MAX_ATTACHED: Final = 64
#: Seconds that cancelled calls get to clean up.
_STOP_SECONDS: Final = 5.0


@attrs.define(eq=False, repr=False)
class InFlightCall:
    """One in-flight call, on the event loop on which it began.

    Attributes:
        task: Runs the call; `None` for a call that has ended already.
        amounts: Returns the resources that the run which began the call has used, by kind.
        end: The answer, or the exception that the handler raised for the host; cancelled without
            either.
        pid: The process in which the call runs.
    """

    task: asyncio.Task[Any] | None
    amounts: Callable[[], Mapping[str, float]] = dict[str, float]
    end: Future[Settlement] = attrs.field(factory=Future)
    pid: int = attrs.field(factory=os.getpid)

    def __attrs_post_init__(self) -> None:
        if self.task is not None:
            self.task.add_done_callback(lambda task: self.end.cancel())  # no effect after the end

    def answer(self, settlement: Settlement) -> None:
        """Store the answer."""
        if not self.end.done():
            self.end.set_result(settlement)

    def fail(self, error: BaseException) -> None:
        """Store the exception that the handler raised for the host."""
        if not self.end.done():
            self.end.set_exception(error)

    def cancel(self) -> None:
        """Stop the call, because its answer is no longer needed."""
        if self.task is not None and not self.lost:
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)

    @property
    def lost(self) -> bool:
        """Whether the call can no longer end."""
        if self.end.done() or self.task is None:
            return self.end.cancelled()
        return self.pid != os.getpid() or self.task.get_loop().is_closed()

    @property
    def answered(self) -> bool:
        """Whether the call has ended with an answer, and not with an exception for the host."""
        return self.end.done() and not self.end.cancelled() and self.end.exception() is None

    async def wait(self) -> Settlement | None:
        """Wait for the answer; `None` if there is none and the call must be made again.

        Raises:
            BaseException: The exception that the handler raised for the host.
        """
        loop = None if self.task is None else self.task.get_loop()
        if not self.end.done() and loop is not None and not loop.is_running():
            self.cancel()  # its loop has stopped, so the call cannot continue
            return None
        if self.lost:
            return None
        waiting = asyncio.wrap_future(self.end)
        await asyncio.wait({waiting})  # to cancel the caller does not end the call
        return None if waiting.cancelled() else waiting.result()


class InFlightRegistry:
    """The calls that were left running in all sessions of a stack, by key."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, InFlightCall] = OrderedDict()
        self._attached: OrderedDict[Image, Sequence[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> InFlightCall | None:
        """Return the call with this key, if it was left running."""
        return self._known.get(key)

    @property
    def empty(self) -> bool:
        """Whether no call is left running, all answers have been taken, and no realm is kept."""
        return not self._known and not self._attached

    def add(self, key: str, call: InFlightCall) -> None:
        """Register a call that is left running."""
        with self._lock:
            self._known[key] = call
            while len(self._known) > _MAX_CALLS:
                self._known.popitem(last=False)

    def drop(self, key: str) -> None:
        """Remove a call whose answer was taken, or is no longer needed."""
        with self._lock:
            self._known.pop(key, None)

    def keep_attached(self, image: Image, attachments: Sequence[Any]) -> None:
        """Keep attachments, which have no stored form, while the engine keeps the cell's realm."""
        with self._lock:
            self._attached[image] = attachments
            while len(self._attached) > _MAX_ATTACHED:
                self._attached.popitem(last=False)

    def take_attached(self, image: Image) -> Sequence[Any] | None:
        """Take the attachments of a suspended cell; `None` if the registry has none."""
        with self._lock:
            return self._attached.pop(image, None)

    def leave_running(self, run: CellRun) -> Sequence[Request]:
        """Leave those calls of a run running whose handlers have begun; no other call begins.

        Returns:
            The requests of these calls, in order. The end of the run does not cancel them.
        """
        requests, running = run.requests, list[Request]()
        for request, task in list(requests.open.values()):
            if task.done() or request.id not in requests.begun:
                continue
            running.append(request)
            key = requests.key(request.id)
            if self.get(key) is None:  # else it was left before
                call = InFlightCall(task, requests.guards.amounts)
                requests.detach(request.id, call)
                self.add(key, call)
        return running

    def keep_answers(self, run: CellRun, answers: Sequence[Settlement]) -> None:
        """Register calls that have ended, and whose answers could not be recorded."""
        for answer in answers:
            call = InFlightCall(None, run.requests.guards.amounts)
            call.answer(answer)
            self.add(run.requests.key(answer.id), call)

    async def late_result(self, run: CellRun, request: Request) -> Settlement | None:
        """Wait for the late result of a call that an earlier run left running; `None` without one.

        Amounts that the call has used also count in this run, which may have a different account.

        Raises:
            BaseException: The exception that its handler raised for the host.
        """
        key = run.requests.key(request.id)
        call = self.get(key)
        if call is None:
            return None
        run.requests.begun[request.id] = False
        try:
            settlement = await call.wait()
        except asyncio.CancelledError:
            raise  # the call continues
        except BaseException:
            self._take(key, call, run, request)
            raise
        self._take(key, call, run, request)
        return settlement

    def _take(self, key: str, call: InFlightCall, run: CellRun, request: Request) -> None:
        """Remove a call that has ended, and count the amounts that it has used."""
        self.drop(key)
        used = Step(time.time(), drawn=call.amounts())
        for guard in run.requests.guards:
            guard.restored(used, (request,))

    def stop(self, key: str) -> None:
        """Stop a call that was left running, because its answer is no longer needed."""
        call = self.get(key)
        if call is not None:
            call.cancel()
            self.drop(key)


@attrs.define(eq=False, repr=False)
class InFlightCalls:
    """The calls that a run of a cell left running, until another run takes their late results.

    Attributes:
        in_flight: The registry of the calls.
        keys: The keys of the calls.
        requests: The requests of the calls, in the same order.
        journal: Records the late results as undelivered answers.
        amounts: Returns the resources that the calls have used, by kind.
        seconds: Seconds that the calls may still take; `None` for no limit.
    """

    in_flight: InFlightRegistry
    keys: Sequence[str]
    requests: Sequence[Request]
    journal: Journal
    amounts: Callable[[], Mapping[str, float]]
    seconds: float | None = None

    @classmethod
    def of(
        cls, run: CellRun, journal: Journal, in_flight: InFlightRegistry, running: Sequence[Request]
    ) -> InFlightCalls:
        """Return the calls that a run leaves running."""
        made, amounts = run.requests, run.requests.guards.amounts
        keys = [made.key(request.id) for request in running]
        return cls(in_flight, keys, tuple(running), journal, amounts, run.clock.wall_left())

    @property
    def _known(self) -> dict[str, InFlightCall]:
        return {key: one for key in self.keys if (one := self.in_flight.get(key)) is not None}

    @property
    def waiting(self) -> bool:
        """Whether a call still runs, or its answer has not been taken."""
        return bool(self._known)

    @property
    def running(self) -> Sequence[Request]:
        """The requests of the calls that have not ended."""
        known = self._known
        pairs = zip(self.keys, self.requests, strict=True)
        return [one for key, one in pairs if key in known and not known[key].end.done()]

    async def record_late_results(self) -> None:
        """Record late results as they arrive, until all calls have ended or their time is up.

        No other run of the cell may record meanwhile: cancel this task before the next run. A call
        without an answer stays registered, and another run in this process takes its end.
        """
        known, loop = self._known, asyncio.get_running_loop()
        until = None if self.seconds is None else loop.time() + self.seconds
        while known:
            ends = [asyncio.wrap_future(call.end) for call in known.values()]
            left = None if until is None else max(0.0, until - loop.time())
            await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            ended = [key for key, call in known.items() if call.end.done()]
            if not ended:
                await self.stop()
                return
            for key in ended:
                await to_end(self._take(key, known.pop(key)))

    async def _take(self, key: str, call: InFlightCall) -> None:
        if call.answered:
            answer = Step(time.time(), (call.end.result(),), self.amounts())
            await self.journal.keep(None, answer)
            self.in_flight.drop(key)

    async def over(self) -> None:
        """Wait until all calls have ended, without recording their results."""
        ends = [asyncio.wrap_future(call.end) for call in self._known.values()]
        if ends:
            await asyncio.wait(ends)

    async def stop(self) -> None:
        """Cancel the calls, and wait a moment for their handlers to clean up."""
        known = self._known
        for call in known.values():
            call.cancel()
        ends = [asyncio.wrap_future(call.end) for call in known.values() if not call.lost]
        if ends:
            await asyncio.wait(ends, timeout=_STOP_SECONDS)
        for key in known:
            self.in_flight.drop(key)


_registries: weakref.WeakKeyDictionary[StackView, InFlightRegistry] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def in_flight_of(stack: StackView) -> InFlightRegistry:
    """Return the registry of calls that pauses left running in the cells of a stack."""
    with _lock:
        return _registries.setdefault(stack, InFlightRegistry())
