"""Calls that outlast the run of their cell.

A pause waits for running calls, but not forever. A call that runs longer is left running. If the
cell is run again in this process, the answer of that call is used instead of making the call again.
`CallsInFlight.land` records the answers of such calls for runs in other processes.
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

__all__ = ["CallsInFlight", "Flight", "Flights", "flights_of"]

#: Calls that are known at once; the answers of the oldest ones are forgotten first.
_MAX_FLIGHTS: Final = 1024
#: Parked cells whose attachments are kept.
_MAX_PARKED: Final = 64
#: Seconds that cancelled calls get to clean up.
_STOP_SECONDS: Final = 5.0


@attrs.define(eq=False, repr=False)
class Flight:
    """One call, on the event loop that it was begun on.

    Attributes:
        task: Runs it.
        amounts: Returns the resources that the run which began it has used, by kind.
        end: The answer, or the exception that the handler raised for the host; cancelled without
            either.
        pid: The process that it is in.
    """

    task: asyncio.Task[Any]
    amounts: Callable[[], Mapping[str, float]] = dict[str, float]
    end: Future[Settlement] = attrs.field(factory=Future)
    pid: int = attrs.field(factory=os.getpid)

    def __attrs_post_init__(self) -> None:
        self.task.add_done_callback(lambda task: self.end.cancel())  # nothing, if it has ended

    def answer(self, settlement: Settlement) -> None:
        """Note the answer."""
        if not self.end.done():
            self.end.set_result(settlement)

    def fail(self, error: BaseException) -> None:
        """Store the exception that the handler raised for the host."""
        if not self.end.done():
            self.end.set_exception(error)

    def cancel(self) -> None:
        """Stop the call, because its answer is no longer needed."""
        if not self.lost:
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)

    @property
    def lost(self) -> bool:
        """Whether the call cannot come to an end any more."""
        if self.end.done():
            return self.end.cancelled()
        return self.pid != os.getpid() or self.task.get_loop().is_closed()

    @property
    def answered(self) -> bool:
        """Whether the call has ended with an answer, and not with an exception for the host."""
        return self.end.done() and not self.end.cancelled() and self.end.exception() is None

    async def wait(self) -> Settlement | None:
        """The answer; `None` if there is none, so that the call is to be made again.

        Raises:
            BaseException: The exception that the handler raised for the host.
        """
        if not self.end.done() and not self.task.get_loop().is_running():
            self.cancel()  # of a loop that stopped: nothing in it goes on
            return None
        if self.lost:
            return None
        waiting = asyncio.wrap_future(self.end)
        await asyncio.wait({waiting})  # does not end the call where its caller is cancelled
        return None if waiting.cancelled() else waiting.result()


class Flights:
    """Calls that were left running in all sessions of a stack, by key."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Flight] = OrderedDict()
        self._attached: OrderedDict[Image, Sequence[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Flight | None:
        """The call with this key, if it was left running."""
        return self._known.get(key)

    @property
    def empty(self) -> bool:
        """Whether no call is left running and all answers have been taken."""
        return not self._known

    def add(self, key: str, flight: Flight) -> None:
        """Leave a call alone."""
        with self._lock:
            self._known[key] = flight
            while len(self._known) > _MAX_FLIGHTS:
                self._known.popitem(last=False)

    def drop(self, key: str) -> None:
        """Forget a call: its answer was taken, or is not wanted."""
        with self._lock:
            self._known.pop(key, None)

    def keep_attached(self, image: Image, attachments: Sequence[Any]) -> None:
        """Keep the attachments of a cell whose realm is parked, which have no stored form."""
        with self._lock:
            self._attached[image] = attachments
            while len(self._attached) > _MAX_PARKED:
                self._attached.popitem(last=False)

    def take_attached(self, image: Image) -> Sequence[Any] | None:
        """The attachments of a parked cell; `None` if they are not known here."""
        with self._lock:
            return self._attached.pop(image, None)

    def leave_running(self, run: CellRun) -> Sequence[Request]:
        """Leave those calls of a run alone whose handlers have begun; no other call begins.

        Returns:
            These calls, in order. The end of the run does not cancel them.
        """
        requests, running = run.requests, list[Request]()
        for request, task in list(requests.open.values()):
            if task.done() or request.id not in requests.begun:
                continue
            running.append(request)
            key = requests.key(request.id)
            if self.get(key) is None:  # else it was left before
                flight = Flight(task, requests.guards.amounts)
                requests.detach(request.id, flight)
                self.add(key, flight)
        return running

    async def landed(self, run: CellRun, request: Request) -> Settlement | None:
        """The answer of a call that an earlier run left running; `None` if there is none.

        What the call has used counts in this run, too, whose account may be another.

        Raises:
            BaseException: The exception that its handler raised for the host.
        """
        key = run.requests.key(request.id)
        flight = self.get(key)
        if flight is None:
            return None
        run.requests.begun[request.id] = False
        try:
            settlement = await flight.wait()
        except asyncio.CancelledError:
            raise  # the call goes on
        except BaseException:
            self._take(key, flight, run, request)
            raise
        self._take(key, flight, run, request)
        return settlement

    def _take(self, key: str, flight: Flight, run: CellRun, request: Request) -> None:
        """Forget a call that has ended, and count what it has used."""
        self.drop(key)
        used = Step(time.time(), drawn=flight.amounts())
        for guard in run.requests.guards:
            guard.restored(used, (request,))

    def stop(self, key: str) -> None:
        """Stop a call that was left running, because its answer is no longer needed."""
        flight = self.get(key)
        if flight is not None:
            flight.cancel()
            self.drop(key)


@attrs.define(eq=False, repr=False)
class CallsInFlight:
    """The calls that a run left running, until another run of the cell takes their answers.

    Attributes:
        flights: Knows the calls.
        keys: The keys of the calls.
        requests: The requests of the calls, in the same order.
        journal: Records their answers as undelivered.
        amounts: Returns the resources that the calls have used, by kind.
        seconds: Seconds that the calls may still take; `None` for no limit.
    """

    flights: Flights
    keys: Sequence[str]
    requests: Sequence[Request]
    journal: Journal
    amounts: Callable[[], Mapping[str, float]]
    seconds: float | None = None

    @classmethod
    def of(
        cls, run: CellRun, journal: Journal, flights: Flights, running: Sequence[Request]
    ) -> CallsInFlight:
        """The calls that a run leaves running."""
        made, amounts = run.requests, run.requests.guards.amounts
        keys = [made.key(request.id) for request in running]
        return cls(flights, keys, tuple(running), journal, amounts, run.clock.wall_left())

    @property
    def _known(self) -> dict[str, Flight]:
        return {key: one for key in self.keys if (one := self.flights.get(key)) is not None}

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

    async def land(self) -> None:
        """Record the answers as they arrive, until all calls have ended or their time is up.

        No other run of the cell may record meanwhile: cancel this before the next one. A call
        without an answer stays known, and another run in this process takes its end.
        """
        known, loop = self._known, asyncio.get_running_loop()
        until = None if self.seconds is None else loop.time() + self.seconds
        while known:
            ends = [asyncio.wrap_future(flight.end) for flight in known.values()]
            left = None if until is None else max(0.0, until - loop.time())
            await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            ended = [key for key, flight in known.items() if flight.end.done()]
            if not ended:
                await self.stop()
                return
            for key in ended:
                await to_end(self._take(key, known.pop(key)))

    async def _take(self, key: str, flight: Flight) -> None:
        if flight.answered:
            answer = Step(time.time(), (flight.end.result(),), self.amounts())
            await self.journal.keep(None, answer)
            self.flights.drop(key)

    async def over(self) -> None:
        """Wait until all calls have ended, and record nothing."""
        ends = [asyncio.wrap_future(flight.end) for flight in self._known.values()]
        if ends:
            await asyncio.wait(ends)

    async def stop(self) -> None:
        """Cancel the calls, and wait a moment for their handlers to clean up."""
        known = self._known
        for flight in known.values():
            flight.cancel()
        ends = [asyncio.wrap_future(flight.end) for flight in known.values() if not flight.lost]
        if ends:
            await asyncio.wait(ends, timeout=_STOP_SECONDS)
        for key in known:
            self.flights.drop(key)


_flights: weakref.WeakKeyDictionary[StackView, Flights] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def flights_of(stack: StackView) -> Flights:
    """Calls that pauses left running in the cells of a stack."""
    with _lock:
        return _flights.setdefault(stack, Flights())
