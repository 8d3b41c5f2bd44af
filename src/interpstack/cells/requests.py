"""The host's side of a cell, which answers the guest's requests.

Each request is a task, which ends as a settlement, whatever the handler of its bridge does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Protocol

import attrs

from interpstack.cells.answers import answer_text, arguments, exchanged_arguments
from interpstack.cells.cancels import Cancels
from interpstack.cells.counts import RequestCounts
from interpstack.cells.guards import Guards
from interpstack.contracts.bridges import Bridge, BridgeSet
from interpstack.contracts.errors import UnsupportedValue
from interpstack.contracts.limits import Limits
from interpstack.contracts.modules import ModuleLoader
from interpstack.contracts.outcome import CellContext
from interpstack.contracts.protocol import MODULE, TIMER, GuestError, Request, Settlement
from interpstack.contracts.raised import GuestException, describe_error
from interpstack.sync import apart
from interpstack.threads import call_blocking

__all__ = ["Requests", "Taker"]

#: Characters of the name of a module.
_SPECIFIER_CHARS = 2000
#: Awaitables that may answer each other before there is a value.
_AWAITABLES = 100
#: Seconds that cancelled handlers get to clean up before the answer goes out without them.
_GRACE_SECONDS = 5.0


class Taker(Protocol):
    """Receives the end of a call that was left running."""

    def answer(self, settlement: Settlement) -> None:
        """Take the answer."""

    def fail(self, error: BaseException) -> None:
        """Take an exception that is for the host."""


_Make = Callable[[], Awaitable[Settlement]]
_Around = Callable[[Request, _Make, Callable[[], bool]], Awaitable[Settlement]]


@attrs.define(eq=False, repr=False)
class Requests:
    """The requests of one cell.

    Attributes:
        bridges: The bridges on offer.
        limits: How many may be made, and run at once.
        context: Passed to handlers that want it.
        resolve_module: Finds the loader of a module; `None` for unavailable modules.
        guards: May refuse requests, and count them.
        earlier: Finds the answer of a call that an earlier run of the cell made.
        grace: Seconds that a cancelled request gets to end; see `StepSource.grace`.
        around: Makes a request inside its wrappers, see `wrapped_request`; `None` without any.
        counts: Counts the requests, and refuses the ones that are too many.
        open: Started, unanswered requests.
        begun: Requests whose handlers were called, and whether the answer is being encoded.
        paused: Requests that cannot be answered now, with the exceptions of their handlers.
        settled: Answers that the guest has not got yet, in the order in which they came.
    """

    bridges: BridgeSet
    limits: Limits
    context: CellContext
    resolve_module: Callable[[str], ModuleLoader | None]
    guards: Guards
    earlier: Callable[[Request], Awaitable[Settlement | None]]
    grace: Callable[[int], float]
    around: _Around | None = None
    counts: RequestCounts = attrs.field(init=False)
    open: dict[int, tuple[Request, asyncio.Task[None]]] = attrs.field(factory=dict)
    begun: dict[int, bool] = attrs.field(factory=dict)
    paused: list[tuple[Request, BaseException]] = attrs.field(factory=list)
    settled: list[Settlement] = attrs.field(factory=list)
    _wake: asyncio.Event = attrs.field(factory=asyncio.Event)
    _slots: asyncio.Semaphore = attrs.field(init=False)
    _own_slots: dict[str, asyncio.Semaphore] = attrs.field(factory=dict)
    _due: dict[int, float] = attrs.field(factory=dict)
    _poll_time: float | None = None
    _detached: dict[int, Taker] = attrs.field(factory=dict)
    _finishing: bool = False
    _cancels: Cancels = attrs.field(factory=Cancels)
    #: Bridges of requests that were cancelled, by id.
    _cancelled: dict[int, str] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.limits.concurrency)
        self.counts = RequestCounts(self.bridges, self.limits, self.guards)

    @property
    def idle(self) -> bool:
        """Whether nothing is open and the guest has all answers."""
        return not self.open and not self.settled

    @property
    def outstanding(self) -> list[Request]:
        """Started, unanswered requests."""
        return [request for request, _ in self.open.values()]

    def take_settled(self) -> list[Settlement]:
        """The answers that are ready; they count as delivered from now on."""
        settled, self.settled = self.settled, []
        return settled

    async def wait(self, seconds: float | None) -> bool:
        """Wait until something is settled or paused; False when the time is up first."""
        if not (self.settled or self.paused):
            try:
                # Not `wait_for`: in Python 3.11 it forgets a cancellation that comes with the end.
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                return False
        self._wake.clear()
        if self.open:  # calls that ended in the same turn of the loop join this crossing
            await asyncio.sleep(0)
        return True

    def woken(self) -> Coroutine[Any, Any, Any]:
        """Wait until another request is settled or paused."""
        self._wake.clear()
        return self._wake.wait()

    def drop(self, request_id: int) -> None:
        """Cancel a request whose answer is no longer needed."""
        if request_id in self.open:
            self._cancel(*self.open.pop(request_id))
            self._due.pop(request_id, None)

    def _cancel(self, request: Request, task: asyncio.Task[None]) -> None:
        self._cancelled[request.id] = request.bridge
        grace = self._grace() if self.begun.get(request.id) else self.grace(request.id)
        self._cancels.cancel(request.id, task, grace)

    def detach(self, request_id: int, taker: Taker) -> None:
        """Leave a call alone: `close` does not cancel it, and its end goes to `taker`."""
        self._detached[request_id] = taker
        self._cancels.expect(request_id)
        del self.open[request_id]

    def key(self, request_id: int) -> str:
        """Identifies a request, the same in every run of the cell."""
        return f"{self.context.cell.seed:x}:{request_id}"

    async def close(self, *, finish: bool = False) -> None:
        """Cancel open requests, and wait a moment for handlers to clean up.

        Args:
            finish: Take the values of handlers that cannot be cancelled, such as those in threads.
        """
        self._finishing = finish
        for started in self.open.values():
            self._cancel(*started)
        if not finish:
            self.open.clear()
        if tasks := [task for task in self._cancels.tasks.values() if task is not None]:
            await asyncio.wait(tasks, timeout=_GRACE_SECONDS)
        self.open.clear()

    def still_running(self) -> list[str]:
        """The bridges of calls that outlast the cell, which has ended: their answers are lost.

        A thread cannot be stopped, and a handler may go on although it was cancelled.
        """
        handlers = {number for number, task in self._cancels.tasks.items() if task is not None}
        running = {*self.context.threads.leave(), *handlers}
        return [self._cancelled[number] for number in sorted(running & self._cancelled.keys())]

    def check_cancelled(self) -> None:
        """Raise a cancellation of the cell that something it awaited has caught and forgotten."""
        if self._cancels.happened():
            raise asyncio.CancelledError

    async def deliver(self, name: str, wire: Any, seconds: float | None) -> None:
        """Pass a call to its bridge, for at most `seconds`; its failure stays in the host."""
        bridge = self.bridges.get(name)
        if bridge is None or (bridge.awaited and not bridge.repeats):
            return
        try:
            given = await arguments(bridge, Request(0, name, wire), self.bridges.language)
            called = self._called(bridge, given, self.context)
            if isinstance(called, Awaitable):
                async with asyncio.timeout(seconds):
                    await apart(_value(called), called)
        except BaseException as error:
            if self._cancels.is_for_host(error):
                raise
            self.context.attach(error)

    def start(self, request: Request) -> None:
        """Begin to answer a request, as soon as there is room for it."""
        self.counts.number(request)
        if request.bridge == TIMER:
            self._due[request.id] = self._now() + _timer_seconds(request)
        task = asyncio.ensure_future(self._answer(request))
        self.open[request.id] = (request, task)

    def _now(self) -> float:
        """Return the time of the loop, the same for all requests of one poll.

        To start many takes milliseconds, and timers that were set together would be due in another
        order than that of their lengths.
        """
        if self._poll_time is None:
            loop = asyncio.get_running_loop()
            self._poll_time = loop.time()
            loop.call_soon(self._end_poll)
        return self._poll_time

    def _end_poll(self) -> None:
        self._poll_time = None

    def timer_left(self, request_id: int) -> float:
        """Return the seconds until a timer is due; below 0 if it is overdue."""
        return self._due[request_id] - asyncio.get_running_loop().time()

    async def _answer(self, request: Request) -> None:
        try:
            settlement = await self._settlement(request)
        except asyncio.CancelledError:
            raise
        except GeneratorExit as error:  # comes here at once out of a future that a handler awaits
            if self._cancels.is_for_host(error):
                raise
            guest_error = describe_error(error, request.bridge)
            settlement = self._named(Settlement(request.id, error=guest_error))
        except BaseException as error:  # noqa: BLE001 - the loop raises it
            if request.id in self._detached:
                self._detached[request.id].fail(error)
                return
            self.paused.append((request, error))
            self._wake.set()
            return
        self._due.pop(request.id, None)
        if settlement.error is not None and self._cancels.happened(request.id):
            return  # it tells of the cancellation
        if request.id in self._detached:
            self._detached[request.id].answer(settlement)
        elif self.open.pop(request.id, None) is not None:
            self.settled.append(settlement)
            self._wake.set()

    async def _settlement(self, request: Request) -> Settlement:
        settlement = await self.earlier(request)
        if settlement is None:
            if self.around is None or request.bridge == TIMER:
                settlement = await self._made(request)
            else:
                make = partial(self._made, request)
                settlement = await self.around(request, make, lambda: self._finishing)
        return settlement if settlement.error is None else self._named(settlement)

    def _named(self, settlement: Settlement) -> Settlement:
        error = settlement.error
        if error is None or error.name not in self.bridges.error_names:
            return settlement
        error = attrs.evolve(error, name=self.bridges.error_name(error.name))
        return attrs.evolve(settlement, error=error)

    async def _made(self, request: Request) -> Settlement:
        if request.bridge == TIMER:
            await _until(self._due[request.id])
            return Settlement(request.id, "null")
        if request.bridge == MODULE:
            return await self._load_module(request)
        bridge = self.bridges.get(request.bridge)
        refusal = self.counts.refuse(request, bridge)
        if refusal is not None or bridge is None:
            return Settlement(request.id, error=refusal, refused=True)
        try:
            return Settlement(request.id, await self._admitted(bridge, request))
        except bridge.passes:
            raise
        except BaseException as error:
            if self._cancels.is_for_host(error, request.id):
                raise
            return Settlement(request.id, error=describe_error(error, bridge.name))

    async def _load_module(self, request: Request) -> Settlement:
        specifier = request.wire[:_SPECIFIER_CHARS] if isinstance(request.wire, str) else ""
        try:
            if (load := self.resolve_module(specifier)) is None:
                message = f"there is no module {specifier!r} to import"
                return Settlement(request.id, error=GuestError("ModuleNotFound", message))
            async with self._slots:
                try:
                    bundle = await load()
                finally:
                    if (task := asyncio.current_task()) and task.cancelling():
                        self._cancels.forget_own(task, request.id)
            files = {str.__str__(name): str.__str__(text) for name, text in bundle.files.items()}
            entry = json.dumps(bundle.entry)
            return Settlement(request.id, entry, modules=files, specifier=specifier)
        except GuestException as error:
            return Settlement(request.id, error=describe_error(error, ""))
        except BaseException as error:
            if self._cancels.is_for_host(error, request.id):
                raise
            guest_error = attrs.evolve(describe_error(error, "import"), name="ModuleNotFound")
            return Settlement(request.id, error=guest_error)

    async def _admitted(self, bridge: Bridge, request: Request) -> str:
        """Run the handler once there is room for it; its value as JSON text."""
        if (name := bridge.name) not in self._own_slots:
            self._own_slots[name] = asyncio.Semaphore(bridge.concurrency or self.limits.concurrency)
        async with self._own_slots[name], self._slots:
            for guard in self.guards:
                await guard.before_call()
            context = self.context.for_request(request.id, self.key(request.id), request.plain)
            if self.bridges.exchanges and not request.plain:
                given = await exchanged_arguments(bridge, request, self.bridges, context)
            else:
                given = await arguments(bridge, request, self.bridges.language)
            self.begun[request.id] = False
            try:
                value = self._called(bridge, given, context)
                if isinstance(value, Awaitable):
                    value = await value
                if isinstance(value, Awaitable):  # rare, and may have no end
                    value = await _value(value)
            finally:
                if (task := asyncio.current_task()) and task.cancelling():
                    self._cancels.forget_own(task, request.id)
        self.begun[request.id] = True
        try:
            for exchange in reversed(self.bridges.exchanges):
                value = await exchange.answered(bridge, value, context)
            return await answer_text(bridge.name, value, self.limits.value_bytes)
        finally:
            self.begun[request.id] = False

    def _called(self, bridge: Bridge, given: Any, context: CellContext) -> Any:
        """The return value of a handler, which may be awaitable, or the awaitable of that value."""
        args, kwargs = given
        if bridge.takes_context:
            kwargs["context"] = context
        if bridge.on_loop:
            return bridge.handler(*args, **kwargs)
        call = partial(bridge.handler, *args, **kwargs)
        return call_blocking(partial(_in_thread, call, bridge.name, context), outlasts=self._grace)

    def _grace(self) -> float:
        """Seconds that a call which was made gets to end once the cell is cancelled."""
        return _GRACE_SECONDS if self._finishing else 0.0


def _in_thread(call: Callable[[], Any], name: str, context: CellContext) -> Any:
    with context.threads.running(context.request_id, name):
        return call()


def _timer_seconds(request: Request) -> float:
    """The length of a timer."""
    ms = request.wire if type(request.wire) in (int, float) else 0
    return float(min(max(0, ms), 2**31 - 1)) / 1000


async def _until(when: float) -> None:
    """Wait for a time of the loop; those who wait for the same time go on together."""
    loop = asyncio.get_running_loop()
    if when <= loop.time():
        await asyncio.sleep(0)
        return
    due = asyncio.Event()
    handle = loop.call_at(when, due.set)
    try:
        await due.wait()
    finally:
        handle.cancel()


async def _value(called: Any) -> Any:
    """Return the value of a handler that was called; it may be awaitable, and its answer, too.

    Raises:
        UnsupportedValue: Each answer is awaitable, without end: the event loop would never go on.
    """
    for _ in range(_AWAITABLES):
        if not isinstance(called, Awaitable):
            return called
        called = await called
    raise UnsupportedValue(
        f"the answer is an awaitable of an awaitable, {_AWAITABLES} times over; return the value"
    )
