"""A durable run of a cell: what it does in each state, and how it gets from one state to the next.

    replaying ──► resuming ──► running ◄──► pausing ──► paused
                      └───────────┼────────────▲
                                  └──────► suspended (also from pausing)

A run can be interrupted in each of the first four states: by a cancellation, by a store that
fails, or by a journal that it does not fit. In each of them but resuming, its code can end.
`RunState` says what holds in each state. A cell in the background is the same run with a time
slice, after which it is suspended.
"""

from __future__ import annotations

import asyncio
import enum
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from interpstack import (
    TIMER,
    Capability,
    CellContext,
    CellRun,
    Completion,
    Image,
    Notification,
    Progress,
    Request,
    Settlement,
    Step,
    StepSource,
    to_end,
)
from interpstack_durable.background.time_slices import (
    CellAge,
    StillRunning,
    TimeSlice,
    describe_request,
)
from interpstack_durable.entries import Computed, asked_entry, compare, read_computed
from interpstack_durable.in_flight import InFlightCalls, InFlightRegistry
from interpstack_durable.journal import Journal, ReplayDivergence
from interpstack_durable.pending_requests import PendingRequests
from interpstack_durable.suspensions import StoredRun

__all__ = ["DurableRun", "RunState", "grace_of", "journal_of", "made_when"]

_T = TypeVar("_T")

#: Seconds that a call which was made has to end when the cell is cancelled.
_GRACE_SECONDS: Final = 5.0
#: Seconds that it has once the code has ended: the outcome waits, and no run takes the answer.
_LAST_SECONDS: Final = 1.0
#: Seconds that a journal has for its last record when the cell is cancelled.
_STORE_SECONDS: Final = 5.0
#: Seconds of computing after which answers that arrive are recorded in entries of their own.
_KEEP_SECONDS: Final = 0.05
#: The note on the requests of a run that stopped, which the next run must make, too.
_ASKED: Final = "asked aside"


class RunState(enum.Enum):
    """The states of a durable run, each with the promise that holds in it."""

    #: The guest receives the recorded answers in the recorded order and at the recorded times. No
    #: call is made and nothing is recorded. A guest that asks for anything else than the recorded
    #: run did ends the run.
    REPLAYING = "replaying"
    #: The guest has received all recorded steps. No call is made before the decision that the
    #: recorded run waited for has arrived, and before the journal has taken an entry: a store that
    #: takes none fails before a call that it could not record.
    RESUMING = "resuming"
    #: Calls are made. Each answer is in the journal before the guest receives it.
    RUNNING = "running"
    #: A call waits for a decision. The guest receives nothing, so it makes no further calls. The
    #: answers of calls that still run are recorded one by one, as undelivered. A run that replays
    #: the record of a pausing run is pausing, too, until its own calls say whether one waits.
    PAUSING = "pausing"
    #: The last step and the question are in one entry, and the run has ended for the host. Calls
    #: that outlasted the pause run on; their answers are recorded as undelivered.
    PAUSED = "paused"
    #: The time slice of a cell in the background is over. All answers, amounts and requests are
    #: recorded. Calls in flight run on, as after a pause.
    SUSPENDED = "suspended"
    #: The code has ended, and no later run continues it: calls that were left running are stopped.
    ENDED = "ended"
    #: The run was cut short. What its calls answered is recorded, and another run continues it.
    INTERRUPTED = "interrupted"


#: The states that may follow each state.
_NEXT: Final[Mapping[RunState, Collection[RunState]]] = {
    RunState.REPLAYING: {RunState.RESUMING, RunState.ENDED, RunState.INTERRUPTED},
    RunState.RESUMING: {RunState.RUNNING, RunState.PAUSING, RunState.INTERRUPTED},
    RunState.RUNNING: {
        RunState.PAUSING,
        RunState.SUSPENDED,
        RunState.ENDED,
        RunState.INTERRUPTED,
    },
    RunState.PAUSING: {
        RunState.RUNNING,
        RunState.PAUSED,
        RunState.SUSPENDED,
        RunState.ENDED,
        RunState.INTERRUPTED,
    },
    RunState.PAUSED: (),
    RunState.SUSPENDED: (),
    RunState.ENDED: (),
    RunState.INTERRUPTED: (),
}


def journal_of(context: CellContext) -> Journal | None:
    """Return the journal of the cell that called a handler; `None` for a cell without one."""
    record = context.record
    return record.journal if isinstance(record, DurableRun) else None


def grace_of(context: CellContext) -> float:
    """Return the seconds that a cancelled call's thread has to end, if its answer is recorded."""
    record = context.record
    return _GRACE_SECONDS if isinstance(record, DurableRun) and not record.ending else 0.0


class made_when:  # noqa: N801 - a block, written out because each call from code enters one
    """Let the call of a handler end although its cell is cancelled, if it was made by then.

    Otherwise its answer would be lost, and the call repeated when the cell is run again.

    Args:
        context: The context of the handler.
        made: Called when the cell is cancelled; True if the call had its effect, and ends soon.
    """

    __slots__ = ("_calls", "_id", "_made")

    def __init__(self, context: CellContext, made: Callable[[], bool]) -> None:
        record = context.record
        self._calls = record.calls if isinstance(record, DurableRun) else {}
        self._id, self._made = context.request_id, made

    def __enter__(self) -> None:
        self._calls[self._id] = self._made

    def __exit__(self, *raised: object) -> None:
        del self._calls[self._id]


@attrs.define(eq=False, slots=False, repr=False)
class DurableRun(StepSource):
    """One run of a cell on its journal: recorded answers first, then new ones, recorded.

    Attributes:
        journal: The journal of the cell.
        in_flight: Calls that earlier runs left running.
        time_slice: The time slice of a cell in the background; `None` for other cells.
        late_recorder: Records the late results of calls that a pause leaves running, if the host
            provides it.
        state: The state of the run.
        calls: By the ids of running requests, whether their calls were made; see `made_when`.
        ending: Whether the code has ended, so that open calls are cancelled.
    """

    journal: Journal
    in_flight: InFlightRegistry = attrs.field(factory=InFlightRegistry)
    time_slice: TimeSlice | None = None
    late_recorder: Callable[[InFlightCalls], Awaitable[None]] | None = None
    repeats = True
    state: RunState = attrs.field(default=RunState.REPLAYING, init=False)
    calls: dict[int, Callable[[], bool]] = attrs.field(factory=dict, init=False)
    ending: bool = attrs.field(default=False, init=False)
    _began: float = attrs.field(default=0.0, init=False)
    _stored: StoredRun = attrs.field(init=False)
    _pending: PendingRequests = attrs.field(init=False)
    _age: CellAge = attrs.field(init=False)
    #: The number of steps that the guest has received.
    _steps: int = attrs.field(default=0, init=False)
    #: The guest's requests since the last step, in order.
    _asked: list[Request] = attrs.field(factory=list, init=False)
    #: Calls of a replayed guest: whether they were delivered is known with the next step.
    _emitted: list[Notification] = attrs.field(factory=list, init=False)
    #: The number of undelivered answers that are in the journal, the first ones.
    _recorded: int = attrs.field(default=0, init=False)
    #: The times of the guest's last computing; `None` before the first.
    _computed: Computed | None = attrs.field(default=None, init=False)
    #: The end of the cell's own code.
    _completion: Completion | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.seed = self.journal.seed
        self._stored = StoredRun(self.journal, self.in_flight)

    def _enter(self, state: RunState) -> None:
        if state not in _NEXT[self.state]:
            raise RuntimeError(f"a run that is {self.state.value} cannot be {state.value} next")
        self.state = state

    # -- the start -------------------------------------------------------------------------

    async def open(self, capabilities: Collection[Capability]) -> Image | None:
        now = time.time()
        self._began = await self.journal.begin(now)
        self.begun = self._began != now
        return await self._stored.open(capabilities)

    def begin(self, run: CellRun) -> float:
        self.run, self._pending = run, PendingRequests(run)
        self._age = CellAge() if self.time_slice is None else CellAge.of(self.journal, run)
        if run.resumed and (suspension := self._stored.suspension) is not None:
            self._steps, self._asked = suspension.steps, list(suspension.asked)
            self.journal.skip(self._steps)
            self._stored.go_on(self._pending)
        return self._began

    def amounts(self) -> Sequence[Mapping[str, Any]]:
        return self.journal.amounts()

    async def keep_amounts(self, record: Mapping[str, Any]) -> None:
        await self.journal.keep_amounts(record)

    # -- what the guest asks for -----------------------------------------------------------

    async def compute(self, guest: Callable[[], Awaitable[Progress]]) -> Progress:
        """Let the guest compute, and record answers that arrive during a long computation."""
        began = time.time()
        if self.records and self.run.requests.open:
            progress = await self._computing(guest)
        else:
            progress = await guest()
        self._note_times((began, time.time()))
        return progress

    async def _computing(self, guest: Callable[[], Awaitable[Progress]]) -> Progress:
        computing = asyncio.ensure_future(guest())
        try:
            await asyncio.wait({computing}, timeout=_KEEP_SECONDS)
            while not computing.done():
                if await self._keep(None):
                    continue
                waking = asyncio.ensure_future(self.run.requests.woken())
                try:
                    await asyncio.wait({computing, waking}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    waking.cancel()
        except GeneratorExit:
            raise
        except BaseException:
            computing.cancel()
            # Nobody may touch the realm before the guest has stopped.
            await to_end(asyncio.wait({computing}))
            raise
        return computing.result()

    def _note_times(self, computed: Computed) -> None:
        self._computed = computed
        self.journal.computed(computed)

    async def take(self, progress: Progress) -> None:
        self._completion = progress.completion or self._completion
        if self.records:
            begin = self._pending.start
            for notification in progress.notifications:
                await self.run.deliver(notification)
        else:
            begin = self._pending.add
            self._emitted += progress.notifications
        self._asked += progress.requests
        for request in progress.requests:
            begin(request)
        for request_id in progress.cancelled:
            self.drop(request_id)

    async def stopped(self, notifications: Sequence[Notification]) -> None:
        emitted, self._emitted = [*self._emitted, *notifications], []
        await super().stopped(emitted)

    @property
    def records(self) -> bool:
        return self.state not in (RunState.REPLAYING, RunState.RESUMING)

    @property
    def outstanding(self) -> Sequence[Request]:
        return [*self._pending.unstarted.values(), *self.run.requests.outstanding]

    def drop(self, request_id: int) -> None:
        self._pending.drop(request_id)
        if request_id in self.run.requests.open:
            self.run.requests.drop(request_id)
            self.in_flight.stop(self.run.requests.key(request_id))

    async def earlier(self, request: Request) -> Settlement | None:
        if request.bridge == TIMER:
            if self.time_slice is None:
                return None
            return await self._age.end(request, self.run.requests.timer_left(request.id))
        if self.in_flight.empty:
            return None
        late_result = await self.in_flight.late_result(self.run, request)
        return await self._pending.repeated(request, late_result)

    def grace(self, request_id: int) -> float:
        made = self.calls.get(request_id)
        seconds = _LAST_SECONDS if self.ending else _GRACE_SECONDS
        return seconds if made is not None and made() else 0.0

    def ends(self) -> None:
        self.ending = True

    # -- what the guest receives -----------------------------------------------------------

    async def next(self) -> Step | None:
        try:
            if self.state is RunState.REPLAYING:
                step = await self._replay()
                if step is not None:
                    return step
                await self._resume()
            return await self._wait()
        except ReplayDivergence as error:
            raise error.after(self._completion) from None

    async def _replay(self) -> Step | None:
        """Replay the next recorded step; `None` once there is none any more."""
        step = self.journal.replay(self._asked)
        emitted, self._emitted = self._emitted, []
        for notification in emitted:
            if step is None or self.run.repeats(notification):
                await self.run.deliver(notification)
        if step is not None:
            await self._pending.replay(step)
            self._deliver_next()
        return step

    def _deliver_next(self) -> None:
        self._asked = []
        self._steps += 1

    async def _resume(self) -> None:
        """Continue after the end of the replay."""
        self._enter(RunState.RESUMING)
        self._check_noted_requests()
        if self._pending.unstarted:
            await self.journal.resume()
        elif self._steps:  # nothing new is done
            await self.journal.check_answers()
        undelivered = self.journal.undelivered(self._asked)
        if undelivered is not None:
            await self._pending.take_undelivered(undelivered.step, undelivered.made)
            self._recorded = len(self.run.requests.settled)
        pausing = undelivered is not None and undelivered.pausing
        self._enter(RunState.PAUSING if pausing else RunState.RUNNING)
        if self.time_slice is not None and self._out_of_time:  # between time slices
            await self._pending.refuse(*self.run.clock.out_of_time())
        self._pending.release()

    async def _wait(self) -> Step | None:
        """Wait for answers, and record them; `None` if none can arrive, or time is up first."""
        requests = self.run.requests
        if requests.idle:
            return None
        in_time = await self._in_time()
        if not in_time and not requests.paused:  # a pause that is due comes before the limit
            over = self.time_slice is not None and not self.time_slice.left
            if over and not self._out_of_time:
                raise await self._suspend()
            return None
        if requests.paused or self.state is RunState.PAUSING:
            return await self._pause()
        return await self._record()

    async def _in_time(self) -> bool:
        """Wait until something is settled or paused; False when the time is up first."""
        wall = self.run.clock.wall_left()
        if self.time_slice is None:
            return await self.run.requests.wait(wall)
        known = [seconds for seconds in (wall, self.time_slice.left) if seconds is not None]
        return await self.time_slice.within(self.run.requests.wait(min(known, default=None)))

    @property
    def _out_of_time(self) -> bool:
        wall = self.run.clock.wall_left()
        return wall is not None and wall <= 0

    # -- records ---------------------------------------------------------------------------

    async def _record(self) -> Step:
        """Record the step that the guest receives next."""
        step, _ = await self._recorded_step(partial(self.journal.record, self._asked))
        self._deliver_next()
        return step

    async def _recorded_step(
        self, record: Callable[[Step], Coroutine[Any, Any, _T]]
    ) -> tuple[Step, _T]:
        """Record the step that delivers all answers, even if the cell is cancelled.

        If recording fails, the answers stay undelivered.

        Returns:
            The step, and what `record` returns.
        """
        requests = self.run.requests
        recorded, self._recorded = self._recorded, 0
        step = Step(time.time(), tuple(requests.take_settled()), requests.guards.amounts())
        self._pending.delivered(step)

        async def recording() -> _T:
            try:
                return await record(step)
            except BaseException:
                requests.settled[:0], self._recorded = step.settlements, recorded
                raise

        return step, await to_end(recording(), _STORE_SECONDS)

    @property
    def _unrecorded(self) -> bool:
        """Whether some undelivered answers are not in the journal."""
        return len(self.run.requests.settled) > self._recorded

    async def _keep(self, asked: Sequence[Request] | None, *, amounts: bool = False) -> bool:
        """Record the undelivered answers that are not in the journal; False if there are none.

        Args:
            asked: See `Journal.keep`.
            amounts: Whether amounts that calls have drawn are recorded without an answer, too.
        """
        requests = self.run.requests
        drawn = requests.guards.amounts() if self._unrecorded or amounts else {}
        if not self._unrecorded and not drawn:
            return False
        ended = tuple(requests.settled[self._recorded :])

        async def keeping() -> None:
            await self.journal.keep(asked, Step(time.time(), ended, drawn))
            self._recorded += len(ended)

        await to_end(keeping(), _STORE_SECONDS)
        return True

    async def _note_requests(self, others: Mapping[str, Any] = {}) -> None:
        """Note the guest's requests since the last step, which the next run has to make, too."""
        asked = [asked_entry(request) for request in self._asked]
        noted = {"steps": self._steps, "asked": asked}
        if self._computed is not None:
            noted["computed"] = list(self._computed)
        await self.journal.note({**others, _ASKED: noted})

    def _check_noted_requests(self) -> None:
        """Compare the guest's requests with those that an earlier run noted when it stopped.

        Raises:
            ReplayDivergence: A request differs, or is missing.
        """
        noted = self.journal.noted(_ASKED)
        if noted is None or noted["steps"] != self._steps:  # the cell continued after the note
            return
        compare(self._steps + 1, noted["asked"], self._asked)
        if (computed := read_computed(noted)) is not None:
            self._note_times(computed)

    # -- pauses, time slices and ends ------------------------------------------------------

    async def _pause(self) -> Step | None:
        """Pause when the running calls have ended and are recorded, or `pause_grace` is over."""
        if self.state is not RunState.PAUSING:
            self._enter(RunState.PAUSING)
        await self._quiesce()
        requests = self.run.requests
        if not requests.paused:  # an earlier run was about to pause; this one continues
            if self._out_of_time:
                return None
            self._enter(RunState.RUNNING)
            return await self._record()
        running = self.in_flight.leave_running(self.run)
        await self._stored.suspend(self._pending, self._steps, self._asked)
        if self.time_slice is not None:
            await self.journal.note(self._age.note(self.run, counts=False))
        pause = partial(self.journal.pause, self._asked, paused=requests.paused, running=running)
        _, error = await self._recorded_step(pause)
        self._asked = []  # they belong to the recorded step; later answers belong to the next one
        self._enter(RunState.PAUSED)
        raise error

    async def _quiesce(self) -> None:
        """Wait until no call is running, for as long as the pause and the limits allow."""
        until = time.monotonic() + self.journal.pause_grace
        while at_work := self._at_work():
            if await self._keep(self._asked):  # at once, because the last call may take long
                continue
            wall, left = self.run.clock.wall_left(), until - time.monotonic()
            left = left if wall is None else min(wall, left)
            if left <= 0:
                return
            first = asyncio.FIRST_COMPLETED
            ended, _ = await asyncio.wait(at_work, timeout=left, return_when=first)
            if not ended:
                return

    def _at_work(self) -> Sequence[asyncio.Task[None]]:
        started = self.run.requests.open.values()
        return [task for request, task in started if request.bridge != TIMER and not task.done()]

    async def _suspend(self) -> BaseException:
        """Suspend the cell because its time slice is over; calls in flight continue.

        The next run may skip the steps before the image, so the amounts are recorded first.
        """
        await self._keep(None, amounts=True)
        waits_for = [describe_request(request) for request in self.outstanding]
        self.in_flight.leave_running(self.run)
        await self._stored.suspend(self._pending, self._steps, self._asked)
        await self._note_requests(self._age.note(self.run, counts=True))
        self._enter(RunState.SUSPENDED)
        return StillRunning(waits_for, self.run.context.attachments)

    def ended(self) -> None:
        self._enter(RunState.ENDED)
        self._pending.stop_left(self.in_flight)
        super().ended()
        del self._pending

    async def left(self, error: BaseException) -> None:
        """Record the answers that the guest has not received, now and when they arrive."""
        state, records = self.state, self.records
        if state not in (RunState.PAUSED, RunState.SUSPENDED):
            self._enter(RunState.INTERRUPTED)
        try:
            if records:
                async with asyncio.timeout(_STORE_SECONDS):
                    pausing = self._asked and self.run.requests.paused
                    if self._asked and not pausing and self._unrecorded:
                        await self._note_requests()
                    await self._keep(self._asked if pausing else None)
        except Exception as failed:  # noqa: BLE001 - a store may raise anything
            if state in (RunState.PAUSED, RunState.SUSPENDED):
                # The host sees no failure, so the next run takes the answers, or records them.
                unrecorded = self.run.requests.settled[self._recorded :]
                self.in_flight.keep_answers(self.run, unrecorded)
            error.add_note(f"calls that had ended may be made again: {failed!r}")
        try:
            # After a divergence, nobody will take the answers of calls that still run.
            if state is not RunState.REPLAYING and not isinstance(error, ReplayDivergence):
                await self._pass_on()
        except Exception as failed:  # noqa: BLE001 - a recorder may raise anything, too
            error.add_note(f"calls that still run may be made again: {failed!r}")

    async def _pass_on(self) -> None:
        """Pass the calls that this run or an earlier one left running to the host's recorder."""
        running = self._pending.left_running(self.in_flight)
        calls = InFlightCalls.of(self.run, self.journal, self.in_flight, running)
        if self.time_slice is not None:
            self.time_slice.leave(calls)
        elif running and self.late_recorder is not None:
            # The time of a pause does not count against the limit of a call.
            await self.late_recorder(attrs.evolve(calls, seconds=None))
