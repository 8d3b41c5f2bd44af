"""The steps of a cell with a journal: recorded answers first, then new ones, recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from interpstack import (
    TIMER,
    Call,
    Capability,
    CellContext,
    CellRun,
    Completion,
    Image,
    Progress,
    Request,
    Settlement,
    Step,
    StepSource,
)
from interpstack_durable.background.suspension_notes import check_suspension_note, suspension_note
from interpstack_durable.background.time_slices import (
    CellAge,
    StillRunning,
    TimeSlice,
    describe_request,
)
from interpstack_durable.in_flight import InFlightCalls, InFlightRegistry
from interpstack_durable.journal import Journal, ReplayDivergence
from interpstack_durable.pauses import STORE_SECONDS, Answers, GuestTimes, compute, quiesce
from interpstack_durable.pending_requests import PendingRequests
from interpstack_durable.suspensions import StoredRun

__all__ = ["GRACE_SECONDS", "JournalSteps", "journal_of", "made_when"]

#: Seconds that a call which was made has to end when the cell is cancelled.
GRACE_SECONDS: Final = 5.0


def journal_of(context: CellContext) -> Journal | None:
    """Return the journal of the cell that called a handler; `None` for a cell without one."""
    record = context.record
    return record.journal if isinstance(record, JournalSteps) else None


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
        self._calls = record.calls if isinstance(record, JournalSteps) else {}
        self._id, self._made = context.request_id, made

    def __enter__(self) -> None:
        self._calls[self._id] = self._made

    def __exit__(self, *raised: object) -> None:
        del self._calls[self._id]


@attrs.define(eq=False, slots=False, repr=False)
class JournalSteps(StepSource):
    """A step source that replays the steps of a journal, then computes and records new steps.

    Attributes:
        journal: The journal of the cell.
        in_flight: Calls that earlier runs left running.
        time_slice: The time slice of a cell in the background; `None` for other cells.
        late_recorder: Records the late results of calls that a pause leaves running, if the host
            provides it.
        calls: By the ids of running requests, whether their calls were made; see `made_when`.
    """

    journal: Journal
    in_flight: InFlightRegistry = attrs.field(factory=InFlightRegistry)
    time_slice: TimeSlice | None = None
    late_recorder: Callable[[InFlightCalls], Awaitable[None]] | None = None
    repeats = True
    calls: dict[int, Callable[[], bool]] = attrs.field(factory=dict, init=False)
    _began: float = attrs.field(default=0.0, init=False)
    _stored: StoredRun = attrs.field(init=False)
    _replaying: bool = attrs.field(default=True, init=False)
    #: Whether all recorded steps were replayed.
    _beyond: bool = attrs.field(default=False, init=False)
    _pausing: bool = attrs.field(default=False, init=False)
    #: The guest's requests since the last step, in order.
    _asked: list[Request] = attrs.field(factory=list, init=False)
    #: Calls of a replayed guest: whether they were delivered is known with the next step.
    _emitted: list[Call] = attrs.field(factory=list, init=False)
    #: The number of steps that the guest has received.
    _delivered: int = attrs.field(default=0, init=False)
    #: The end of the cell's own code.
    _ended: Completion | None = attrs.field(default=None, init=False)
    _pending: PendingRequests = attrs.field(init=False)
    _answers: Answers = attrs.field(init=False)
    _age: CellAge = attrs.field(init=False)
    _times: GuestTimes = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.seed = self.journal.seed
        self._stored, self._times = (
            StoredRun(self.journal, self.in_flight),
            GuestTimes(self.journal),
        )

    def amounts(self) -> Sequence[Mapping[str, Any]]:
        return self.journal.amounts()

    async def keep_amounts(self, record: Mapping[str, Any]) -> None:
        await self.journal.keep_amounts(record)

    # -- the start and the end -------------------------------------------------------------

    async def open(self, capabilities: Collection[Capability]) -> Image | None:
        self._began = await self.journal.begin(time.time())
        return await self._stored.open(capabilities)

    def begin(self, run: CellRun) -> float:
        self.run, self._pending = run, PendingRequests(run)
        self._answers = Answers(self._pending, self.journal)
        self._age = CellAge() if self.time_slice is None else CellAge.of(self.journal, run)
        if run.resumed and (suspension := self._stored.suspension) is not None:
            self.journal.skip(suspension.steps)
            self._delivered, self._asked = suspension.steps, list(suspension.asked)
            self._pending.go_on(suspension)
            self._stored.attach(run.context)
        return self._began

    @property
    def records(self) -> bool:
        return not self._replaying

    def ended(self) -> None:
        self._pending.stop_left(self.in_flight)
        super().ended()
        del self._pending, self._answers

    async def left(self, error: BaseException) -> None:
        """Record the answers that the guest has not received, now and when they arrive."""
        try:
            if self.records:
                async with asyncio.timeout(STORE_SECONDS):
                    pausing = self._asked and self.run.requests.paused
                    if self._asked and not pausing and self._answers.unrecorded:
                        await self._note_requests()
                    await self._answers.keep(self._asked if pausing else None)
        except Exception as failed:  # noqa: BLE001 - a store may raise anything
            error.add_note(f"calls that had ended may be made again: {failed!r}")
        try:
            # After a divergence, nobody will take the answers of calls that still run.
            if self._beyond and not isinstance(error, ReplayDivergence):
                await self._pass_on()
        except Exception as failed:  # noqa: BLE001 - a recorder may raise anything, too
            error.add_note(f"calls that still run may be made again: {failed!r}")

    async def _note_requests(self, others: Mapping[str, Any] = {}) -> None:
        """Note the guest's requests, which the next run has to make, too."""
        asked = suspension_note(self._delivered, self._asked, self._times.last)
        await self.journal.note({**others, **asked})

    async def _pass_on(self) -> None:
        """Pass the calls that this run or an earlier one left running to the host's recorder."""
        running = self._pending.left_running(self.in_flight)
        calls = InFlightCalls.of(self.run, self.journal, self.in_flight, running)
        if self.time_slice is not None:
            self.time_slice.leave(calls)
        elif running and self.late_recorder is not None:
            # The time of a pause does not count against the limit of a call.
            await self.late_recorder(attrs.evolve(calls, seconds=None))

    # -- requests of the guest -------------------------------------------------------------

    async def take(self, progress: Progress) -> None:
        self._ended = progress.completion or self._ended
        if self._replaying:
            self._emitted += progress.calls
        else:
            for call in progress.calls:
                await self.run.deliver(call)
        requests = _of_cell(progress.requests, self._shift)
        self._asked += requests
        for request in requests:
            (self._pending.add if self._replaying else self._pending.start)(request)
        for request_id in progress.cancelled:
            self.drop(request_id + self._shift)

    async def stopped(self, calls: Sequence[Call]) -> None:
        emitted, self._emitted = [*self._emitted, *calls], []
        await super().stopped(emitted)

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
        return await self._pending.repeated(
            request, await self.in_flight.late_result(self.run, request)
        )

    def grace(self, request_id: int) -> float:
        made = self.calls.get(request_id)
        return GRACE_SECONDS if made is not None and made() else 0.0

    @property
    def _shift(self) -> int:
        """The offset of request ids to the engine's: 0, except for journals of an older form."""
        return self.journal.first_request - 1

    # -- answers to the guest --------------------------------------------------------------

    async def next(self) -> Step | None:
        try:
            step = await self._replayed() or await self._computed()
        except ReplayDivergence as error:
            raise error.after(self._ended) from None
        return None if step is None else _of_engine(step, self._shift)

    async def _replayed(self) -> Step | None:
        """Replay the next recorded step; `None` once there is none any more."""
        if not self._replaying:
            return None
        step = self.journal.replay(self._asked)
        emitted, self._emitted = self._emitted, []
        for call in emitted:
            if step is None or self.run.repeats(call):
                await self.run.deliver(call)
        if step is None:
            await self._go_beyond()
            return None
        await self._pending.replay(step)
        self._asked = []
        self._delivered += 1
        return step

    async def _go_beyond(self) -> None:
        """Continue after the end of the replay."""
        self._beyond = True
        self._times.noted(check_suspension_note(self.journal, self._delivered, self._asked))
        if self._pending.unstarted:
            await self.journal.resume()
        elif self._delivered:  # nothing new is done
            await self.journal.check_answers()
        undelivered = self.journal.undelivered(self._asked)
        if undelivered is not None:
            await self._pending.take_undelivered(undelivered.step)
            self._pausing = undelivered.pausing
            self._answers.restored()
        self._replaying = False
        if self.time_slice is not None and self._pending.out_of_time:  # between time slices
            await self._pending.refuse(*self.run.clock.out_of_time())
        self._pending.release()

    async def _computed(self) -> Step | None:
        """Wait for answers, and record them; `None` if none can arrive, or time is up first."""
        requests = self.run.requests
        if requests.idle:
            return None
        in_time = await _in_time(self.run, self.time_slice)
        if not in_time and not requests.paused:  # a pause that is due comes before the limit
            if (
                self.time_slice is not None
                and not self.time_slice.left
                and not self._pending.out_of_time
            ):
                raise await self._suspend()
            return None
        return await (self._pause() if requests.paused or self._pausing else self._record())

    async def _record(self) -> Step:
        step, _ = await self._answers.recorded(partial(self.journal.record, self._asked))
        self._asked = []
        self._delivered += 1
        return step

    async def compute(self, guest: Callable[[], Awaitable[Progress]]) -> Progress:
        """Let the guest compute, and record answers that arrive during a long computation."""
        if self._replaying or not self.run.requests.open:
            return await self._times.of(guest)
        woken, keep = self.run.requests.woken, self._answers.keep
        return await self._times.of(lambda: compute(guest, lambda: keep(None), woken))

    # -- pauses ----------------------------------------------------------------------------

    async def _suspend(self) -> BaseException:
        """Suspend the cell because its time slice is over; calls in flight continue.

        The next run may skip the steps before the image, so the amounts are recorded first.
        """
        await self._answers.suspend()
        waits_for = [describe_request(request) for request in self.outstanding]
        self.in_flight.leave_running(self.run)
        await self._stored.suspend(self._pending, self._delivered, tuple(self._asked))
        await self._note_requests(self._age.note(self.run, counts=True))
        return StillRunning(waits_for, self.run.context.attachments)

    async def _pause(self) -> Step | None:
        """Pause the cell when the running calls have ended and are recorded.

        The guest receives nothing during the pause, so it can start no further calls. Calls that
        outlast `pause_grace` are left running.
        """
        await quiesce(self.run, self.journal.pause_grace, lambda: self._answers.keep(self._asked))
        requests = self.run.requests
        if not requests.paused:  # an earlier run was about to pause; this one continues
            if self._pending.out_of_time:
                return None
            self._pausing = False
            return await self._record()
        running = self.in_flight.leave_running(self.run)
        await self._stored.suspend(self._pending, self._delivered, tuple(self._asked))
        if self.time_slice is not None:
            await self.journal.note(self._age.note(self.run, counts=False))
        pause = partial(self.journal.pause, self._asked, paused=requests.paused, running=running)
        _, error = await self._answers.recorded(pause)
        self._asked = []  # they belong to the recorded step; later answers belong to the next one
        raise error


async def _in_time(run: CellRun, time_slice: TimeSlice | None) -> bool:
    """Wait until something is settled or paused; False when the time is up first."""
    wall = run.clock.wall_left()
    if time_slice is None:
        return await run.requests.wait(wall)
    known = [seconds for seconds in (wall, time_slice.left) if seconds is not None]
    return await time_slice.within(run.requests.wait(min(known, default=None)))


def _of_cell(requests: Sequence[Request], shift: int) -> Sequence[Request]:
    """Return requests of the engine with their ids in the cell."""
    return [attrs.evolve(one, id=one.id + shift) for one in requests] if shift else requests


def _of_engine(step: Step, shift: int) -> Step:
    """Return a step with the request ids of the engine."""
    if not shift:
        return step
    settlements = tuple(attrs.evolve(one, id=one.id - shift) for one in step.settlements)
    return attrs.evolve(step, settlements=settlements)
