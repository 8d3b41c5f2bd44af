"""Drives one cell: polls the engine, does the host work, settles, until the cell has ended.

Nothing a guest does raises out of `run_cell`. What does: cancellation of the caller,
`EngineFailure` when the engine broke, `ReplayDivergence`, and exceptions that a bridge declared
to be the host's own (`Bridge.passes`).

With a ledger, what the guest is told comes from there as long as it has something; only then
are requests started. An exception out of a cell with a ledger means that it will be run again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs

from interpstack.bridges import TIMER, BridgeSet
from interpstack.cells.clock import CellClock
from interpstack.cells.extensions import Guards
from interpstack.cells.outcome import CellContext, Outcome, Usage
from interpstack.cells.requests import Requests
from interpstack.engine import Execution, Realm
from interpstack.errors import EngineFailure
from interpstack.flights import Flights
from interpstack.ledger import Ledger, Step, Suspension
from interpstack.limits import Limits
from interpstack.modules import ModuleLoader
from interpstack.protocol import Call, Cell, GuestError, Image, Progress, Request, Settlement
from interpstack.threads import run_guest, to_end
from interpstack.values import check

__all__ = ["Recording", "run_cell"]

_NO_GUARDS: Final = Guards()
#: Seconds that a call's handler has at the least, however late the cell is.
_DELIVERY_SECONDS: Final = 5.0
#: Characters around the output in the call that hands it out.
_CONSOLE_CHARS: Final = 100
#: Seconds that a guest computes before what ends meanwhile is kept on its own.
_KEEP_SECONDS: Final = 0.05
#: Seconds that a guest gets to end by itself when the wall time of its cell is up.
_LATE_SECONDS: Final = 1.0
#: Seconds that a ledger gets to keep what has happened once the cell is cancelled.
_STORE_SECONDS: Final = 5.0


async def run_cell(
    realm: Realm,
    cell: Cell,
    bridges: BridgeSet,
    limits: Limits,
    context: CellContext,
    unawaited: str = "finish",
    resolve_module: Callable[[str], ModuleLoader | None] = lambda specifier: None,
    recording: Recording | None = None,
    guards: Guards = _NO_GUARDS,
    began: Callable[[Execution], None] = lambda execution: None,
) -> Outcome:
    """Run `cell` in `realm` to its end.

    Args:
        realm: Nobody else may use it meanwhile.
        cell: What to run.
        bridges: What the realm is bound to.
        limits: See `Limits`.
        context: Collects what bridges add to the outcome.
        unawaited: What happens to requests still open when the cell has ended: `finish`
            or `cancel`.
        resolve_module: Finds what loads a module; `None` for modules that cannot be had.
        recording: How the cell is recorded, and perhaps run again.
        guards: Bound what the cell may use, and count it.
        began: Called with the execution before any code runs.
    """
    flights = Flights() if recording is None else recording.flights
    requests = Requests(cell, bridges, limits, context, resolve_module, guards, flights)
    execution = await _begin(realm, cell, recording)
    began(execution)
    run = _Run(realm, execution, requests, limits, context, unawaited, recording)
    if recording is not None and recording.suspended is not None:
        run.go_on(recording.suspended)
    try:
        outcome = await run.drive()
        await requests.close()
        requests.check_cancelled()
    except GeneratorExit:
        raise  # the event loop was closed: nothing can be awaited any more
    except BaseException as error:
        await to_end(run.leave(error))
        raise
    return outcome


async def _begin(realm: Realm, cell: Cell, recording: Recording | None) -> Execution:
    """The execution of a cell, or of one that is in the middle of its run.

    To prepare a cell may copy the guest's memory, or wait for a process.
    """
    begun: list[Execution] = []

    def begin() -> None:
        if recording is not None and recording.suspended is not None:
            begun.append(realm.resume(recording.before))
        else:
            begun.append(realm.start(cell))

    try:
        await run_guest(begin, lambda: None)
    except asyncio.CancelledError:
        if begun:  # nobody else knows of it
            await to_end(run_guest(lambda: begun[0].abort("cancelled"), lambda: None))
        raise
    return begun[0]


@attrs.frozen(kw_only=True)
class Recording:
    """How a cell is recorded.

    Attributes:
        ledger: Says what was told in an earlier run, and keeps what is told in this one.
        began: The clock of the first poll.
        undo: Take back what the cell did if it is left early.
        suspends: Keep the run in the middle when it is paused.
        suspended: Go on with this run; the realm is in the middle of it.
        before: What the realm held before that.
        flights: Calls that earlier runs left alone.
    """

    ledger: Ledger
    began: float
    undo: bool = False
    suspends: bool = False
    suspended: Suspension | None = None
    before: Image | None = None
    flights: Flights = attrs.field(factory=Flights)


@attrs.define(eq=False)
class _Run:
    realm: Realm
    execution: Execution
    requests: Requests
    limits: Limits
    context: CellContext
    unawaited: str
    recording: Recording | None
    ledger: Ledger | None = attrs.field(init=False)
    step: Step = attrs.field(init=False)
    asked: list[Request] = attrs.field(factory=list)
    calls: list[Call] = attrs.field(factory=list)
    told: int = 0
    answered: bool = False
    replaying: bool = attrs.field(init=False)
    pausing: bool = False
    kept: int = 0
    clock: CellClock = attrs.field(init=False)
    polls: int = 0
    ended: bool = False
    notices: tuple[str, ...] = ()
    failures: dict[tuple[str, str], Mapping[str, Any]] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        if self.context.listener is not None:
            self.execution.listen(self.context.listener.hear)
        self.ledger = None if self.recording is None else self.recording.ledger
        self.step = Step(time.time() if self.recording is None else self.recording.began)
        self.replaying = self.ledger is not None
        self.clock = CellClock(self.limits, self.requests.guards)

    async def drive(self) -> Outcome:
        while True:
            progress = await self._poll()
            if progress.failure is not None:
                self.ended = True
                await self._deliver_aside()
                return self._outcome(error=progress.failure)
            if progress.exhausted:
                return await self._give_up(*self.clock.out_of_time())
            if progress.completion is not None:
                await self._finish_unawaited()
                done = progress.completion
                return self._outcome(
                    text=done.text,
                    error=self._traced(done.error),
                    handle=done.handle,
                    undefined=done.undefined,
                    omitted_chars=done.omitted_chars,
                    omitted_exact=done.omitted_exact,
                )
            if await self._replay():
                continue
            if self.requests.idle:
                return await self._give_up(
                    "Deadlock",
                    "the cell waits for a promise that nothing can settle: no request is open. "
                    "Is a promise missing its resolver?",
                )
            if not await self._wait():
                return await self._give_up(*self.clock.out_of_time())

    async def leave(self, error: BaseException) -> None:
        """End the cell early: stop the guest and the requests, and keep the answers so far."""
        self.ended = True
        try:
            progress = await run_guest(lambda: self._stop_guest(error), lambda: None)
            if self.context.listener is not None:  # nobody else reads what it printed
                self.calls += progress.calls
                await self._deliver_aside()
        finally:
            await self.requests.close(finish=self._records)
            await self._keep_rest(error)

    def _stop_guest(self, error: BaseException) -> Progress:
        progress = self.execution.abort("cancelled")
        if (
            self.recording is not None
            and self.recording.undo
            and not isinstance(error, EngineFailure)
        ):
            self.execution.undo()
        return progress

    async def _keep_rest(self, error: BaseException) -> None:
        """Keep the answers that the guest was not told: their calls have been made."""
        if self.ledger is None or not self._records:
            return
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await self._keep(self.ledger, None)
        except Exception as failed:  # noqa: BLE001 - a store may raise anything
            error.add_note(f"calls that had ended may be made again: {failed!r}")

    @property
    def _records(self) -> bool:
        """Whether answers are recorded now."""
        return self.ledger is not None and not self.replaying

    # -- what the guest is told ------------------------------------------------------------

    async def _replay(self) -> bool:
        """Take the next step from the ledger; False once there is none, or was none ever."""
        if not self.replaying or self.ledger is None:
            return False
        step = self.ledger.replay(self.asked)
        await self._deliver_aside(everything=step is None)
        if step is None:
            if self.requests.held:  # else nothing new is done
                await self.ledger.resume()
            kept = self.ledger.kept(self.asked)
            if kept is not None:
                self.requests.take_kept(kept.step)
                self.pausing, self.kept = kept.pausing, len(self.requests.settled)
            self.replaying = False
            self.requests.release()
            return False
        self.requests.replay(step)
        self.asked, self.step = [], step
        self.told += 1
        return True

    async def _wait(self) -> bool:
        """Wait for answers, and record them; False when the time is up first.

        Raises:
            BaseException: What a bridge declared to be the host's own (`Bridge.passes`).
        """
        in_time = await self.requests.wait(self.clock.wall_left())
        if not in_time and not self.requests.paused:  # a pause that is due comes before the limit
            return False
        if self.requests.paused or self.pausing:
            return await self._pause()
        await self._record()
        return True

    async def _pause(self) -> bool:
        """Leave the cell, once what runs has come to its end and is recorded.

        The guest is told nothing meanwhile, so it can start nothing more. What runs for longer is
        left alone.
        """
        if self.recording is None or self.ledger is None:
            raise self.requests.paused[0][1]
        await self._quiesce(self.ledger)
        if not self.requests.paused:  # an earlier run would have, this one need not
            wall = self.clock.wall_left()
            if wall is not None and wall <= 0:
                return False
            self.pausing = False
            await self._record()
            return True
        running = self.requests.leave_running()
        suspension = await self._suspension() if self.recording.suspends else None
        if suspension is not None:
            await self.ledger.suspend(suspension)
        paused = self.requests.paused
        raise await self.ledger.pause(self.asked, self._next_step(), paused, running)

    async def _quiesce(self, ledger: Ledger) -> None:
        """Wait until nothing is at work, for as long as the ledger and the limits allow.

        What ends meanwhile is kept at once: the last may take long.
        """
        until = time.monotonic() + ledger.pause_grace
        while not self.requests.quiet:
            if await self._keep(ledger, self.asked):
                continue
            wall, left = self.clock.wall_left(), until - time.monotonic()
            left = left if wall is None else min(wall, left)
            if left <= 0 or not await self.requests.quieter(left):
                return

    async def _keep(self, ledger: Ledger, asked: Sequence[Request] | None) -> bool:
        """Keep the answers that were not; False if there are none."""
        ended = tuple(self.requests.settled[self.kept :])
        if ended:
            self.kept += len(ended)
            step = Step(time.time(), ended, self._drawn())
            await to_end(ledger.keep(asked, step), _STORE_SECONDS)
        return bool(ended)

    async def _suspension(self) -> Suspension | None:
        """The run as it stands; `None` if it has answered, or attached what cannot be kept."""
        console = self.context.console
        if console is None or self.answered:
            return None
        return Suspension(
            image=await run_guest(self.realm.image, lambda: None),
            steps=self.told,
            asked=tuple(self.asked),
            open=tuple(self.requests.unanswered),
            made=self.requests.made,
            console=console,
            cpu_seconds=self.clock.cpu_seconds,
        )

    def go_on(self, suspension: Suspension) -> None:
        """Take up a run in the middle."""
        self.told, self.clock.cpu_seconds = suspension.steps, suspension.cpu_seconds
        self.asked = list(suspension.asked)
        self.requests.go_on(suspension.open, suspension.made)
        for text, omitted in suspension.console:
            self.context.write_console(text, omitted)

    async def _record(self) -> None:
        self.step = self._next_step()
        if self.ledger is not None:
            await to_end(self.ledger.record(self.asked, self.step), _STORE_SECONDS)
            self.asked = []
            self.told += 1

    def _next_step(self) -> Step:
        """What the guest is to be told next."""
        self.kept = 0
        return Step(time.time(), tuple(self.requests.take_settled()), self._drawn())

    def _drawn(self) -> dict[str, float]:
        return {} if self.ledger is None else self.requests.guards.amounts()

    def _repeats(self, call: Call) -> bool:
        bridge = self.requests.bridges.get(call.bridge)
        return bridge is not None and bridge.repeats

    # -- the guest's side ------------------------------------------------------------------

    async def _poll(self) -> Progress:
        self.requests.check_cancelled()
        now, settled = self.step.now, self._of_engine(self.step.settlements)
        told = [one.error for one in settled if one.error is not None]
        self.failures |= {(error.name, error.message): error.data for error in told}
        self.step = attrs.evolve(self.step, settlements=())
        budget = self.clock.left(wall=not self.requests.paused)

        def step() -> Progress:
            if settled:
                self.execution.settle(settled)
            return _checked(self.execution.poll(now, budget), self.limits)

        with self._stopped_in_time():
            progress = await self._computed(step)
        self.polls += 1
        self.clock.computed(progress.cpu_seconds)
        self.notices += tuple(progress.notices)
        await self._take(progress)
        return progress

    @contextmanager
    def _stopped_in_time(self) -> Iterator[None]:
        """Stop the guest when the wall time is up.

        Engines count CPU time, of which a busy machine gives less than the clock shows.
        """
        left = None if self.requests.paused else self.clock.wall_left()
        if left is None:
            yield
            return
        late = max(left, 0.0) + _LATE_SECONDS
        timer = asyncio.get_running_loop().call_later(late, self.execution.interrupt)
        try:
            yield
        finally:
            timer.cancel()

    async def _computed(self, step: Callable[[], Progress]) -> Progress:
        """Let the guest compute; what ends meanwhile is kept, if that takes it long."""
        ledger = self.ledger
        if ledger is None or self.replaying or not self.requests.open:
            return await run_guest(step, self.execution.interrupt)
        guest = asyncio.ensure_future(run_guest(step, self.execution.interrupt))
        try:
            await asyncio.wait({guest}, timeout=_KEEP_SECONDS)
            while not guest.done():
                if await self._keep(ledger, None):
                    continue
                woken = asyncio.ensure_future(self.requests.woken())
                try:
                    await asyncio.wait({guest, woken}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    woken.cancel()
        except GeneratorExit:
            raise
        except BaseException:
            guest.cancel()
            await to_end(asyncio.wait({guest}))  # nobody may touch the realm before it has stopped
            raise
        return guest.result()

    async def _take(self, progress: Progress) -> None:
        if self.replaying:  # whether they were delivered before is known with the next step
            self.calls += progress.calls
        else:
            for call in progress.calls:
                await self._deliver(call)
        requests = [self._of_cell(request) for request in progress.requests]
        self.asked += requests
        for request in requests:
            if self.replaying:
                self.requests.hold(request)
            else:
                self.requests.start(request)
        for request_id in progress.cancelled:
            self.requests.drop(request_id + self._shift)

    @property
    def _shift(self) -> int:
        """What is added to an engine's request ids: 0, but for ledgers of an older form."""
        return 0 if self.ledger is None else self.ledger.first_request - 1

    def _of_cell(self, request: Request) -> Request:
        shift = self._shift
        return attrs.evolve(request, id=request.id + shift) if shift else request

    def _of_engine(self, settlements: Sequence[Settlement]) -> Sequence[Settlement]:
        shift = self._shift
        return [attrs.evolve(s, id=s.id - shift) for s in settlements] if shift else settlements

    async def _finish_unawaited(self) -> None:
        """Let open requests finish and tell the guest; its timers die with the cell."""
        self.answered = True
        for request in self.requests.outstanding:
            if request.bridge == TIMER or self.unawaited == "cancel":
                self.requests.drop(request.id)
        late = not self.requests.idle
        while await self._replay() or (not self.requests.idle and await self._wait()):
            progress = await self._poll()
            if progress.failure is not None or progress.exhausted:
                break
        if late:
            undone = await self._abort("the cell has ended")
            self.notices += (undone,) if undone else ()
        self.ended = True

    async def _deliver(self, call: Call) -> None:
        # Output of a cell that ran out of time is still delivered.
        left = self.clock.wall_left()
        seconds = left if left is None else max(left, _DELIVERY_SECONDS)
        await self.requests.deliver(call.bridge, call.wire, seconds)

    async def _deliver_aside(self, *, everything: bool = False) -> None:
        """Deliver what was put aside; unless `everything`, calls that may be repeated."""
        calls, self.calls = self.calls, []
        for call in calls:
            if everything or self._repeats(call):
                await self._deliver(call)

    async def _abort(self, reason: str) -> str:
        """End the execution; what became of the guest's state, if anything did."""
        self.ended = True
        await self._deliver_aside()
        progress = await run_guest(lambda: self._aborted(reason), lambda: None)
        for call in progress.calls:
            await self._deliver(call)
        return "" if progress.failure is None else progress.failure.message

    def _aborted(self, reason: str) -> Progress:
        return _checked(self.execution.abort(reason), self.limits)

    async def _give_up(self, name: str, message: str) -> Outcome:
        outstanding = self.requests.outstanding
        if outstanding:
            listed = ", ".join(sorted({request.bridge for request in outstanding})[:10])
            message += f"; {len(outstanding)} request(s) were still open: {listed}"
        undone = await self._abort(message)
        return self._outcome(error=GuestError(name, f"{message}; {undone}" if undone else message))

    def _traced(self, error: GuestError | None) -> GuestError | None:
        """An error of the guest with the data of the failed request that it is, if it is one."""
        data = None if error is None else self.failures.get((error.name, error.message))
        return error if error is None or not data else attrs.evolve(error, data=data)

    def _outcome(self, **fields: Any) -> Outcome:
        usage = Usage(
            cpu_seconds=self.clock.cpu_seconds,
            wall_seconds=self.clock.wall_seconds,
            requests=self.requests.count,
            crossings=self.polls,
        )
        return self.context.outcome(
            self.limits.console_chars, usage=usage, notices=self.notices, **fields
        )


def _checked(progress: Progress, limits: Limits) -> Progress:
    """A progress whose values are of a size and depth that the host can take.

    Whether they are plain is found out here, whatever the engine was told of them.
    """
    if not progress.calls and not progress.requests:
        return progress
    requests = []
    for request in progress.requests:
        wire, plain = check(request.wire, limits.value_bytes)
        requests.append(Request(request.id, request.bridge, wire, plain))
    # One may be the output, whose characters have up to four bytes.
    most = limits.value_bytes + 4 * limits.console_chars + _CONSOLE_CHARS
    calls = [Call(call.bridge, check(call.wire, most)[0]) for call in progress.calls]
    return attrs.evolve(progress, calls=calls, requests=requests)
