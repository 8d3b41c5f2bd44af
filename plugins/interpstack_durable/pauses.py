"""Records of a run's answers, and its waits, during which answers that arrive are recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

import attrs

from interpstack import TIMER, CellRun, Progress, Request, Step, to_end
from interpstack_durable.entries import Computed
from interpstack_durable.journal import Journal
from interpstack_durable.pending_requests import PendingRequests

__all__ = ["STORE_SECONDS", "Answers", "GuestTimes", "compute", "quiesce"]

_T = TypeVar("_T")

#: Seconds that a journal has for its last record when the cell is cancelled.
STORE_SECONDS: Final = 5.0
#: Seconds of computing after which answers that arrive are recorded in entries of their own.
_KEEP_SECONDS: Final = 0.05


@attrs.define(eq=False, repr=False)
class GuestTimes:
    """Measures how long a guest computes, by the clock of the host.

    Attributes:
        journal: Records the times.
        last: The times of the last computing; `None` before the first.
    """

    journal: Journal
    last: Computed | None = None

    async def of(self, guest: Callable[[], Awaitable[Progress]]) -> Progress:
        """Let the guest compute, and note the times."""
        began = time.time()
        progress = await guest()
        self.noted((began, time.time()))
        return progress

    def noted(self, times: Computed | None) -> None:
        """Take the times of an earlier run that made the same requests, if they are known."""
        if times is not None:
            self.last = times
            self.journal.computed(times)


@attrs.define(eq=False, repr=False)
class Answers:
    """The undelivered answers of one run, and which of them are recorded.

    Attributes:
        pending: The requests of the answers.
        journal: Records the answers.
    """

    pending: PendingRequests
    journal: Journal
    #: The number of answers in the journal.
    _recorded: int = attrs.field(default=0, init=False)

    @property
    def unrecorded(self) -> bool:
        """Whether some answers are not in the journal."""
        return len(self.pending.run.requests.settled) > self._recorded

    def restored(self) -> None:
        """Note that all answers were taken from the journal."""
        self._recorded = len(self.pending.run.requests.settled)

    async def recorded(self, record: Callable[[Step], Coroutine[Any, Any, _T]]) -> tuple[Step, _T]:
        """Record the step that delivers all answers, even if the cell is cancelled.

        If recording fails, the answers stay undelivered.

        Returns:
            The step, and what `record` returns.
        """
        requests = self.pending.run.requests
        recorded, self._recorded = self._recorded, 0
        step = Step(time.time(), tuple(requests.take_settled()), requests.guards.amounts())
        self.pending.delivered(step)

        async def recording() -> _T:
            try:
                return await record(step)
            except BaseException:
                requests.settled[:0], self._recorded = step.settlements, recorded
                raise

        return step, await to_end(recording(), STORE_SECONDS)

    async def keep(self, asked: Sequence[Request] | None) -> bool:
        """Record the answers that are not in the journal; False if there are none."""
        if not self.unrecorded:
            return False
        await self._keep(asked)
        return True

    async def suspend(self) -> None:
        """Record the answers that are not in the journal, and the amounts drawn by calls."""
        if self.unrecorded or self.pending.run.requests.guards.amounts():
            await self._keep(None)

    async def _keep(self, asked: Sequence[Request] | None) -> None:
        requests = self.pending.run.requests
        ended = tuple(requests.settled[self._recorded :])
        step = Step(time.time(), ended, requests.guards.amounts())

        async def keeping() -> None:
            await self.journal.keep(asked, step)
            self._recorded += len(ended)

        await to_end(keeping(), STORE_SECONDS)


async def compute(
    guest: Callable[[], Awaitable[Progress]],
    keep: Callable[[], Awaitable[bool]],
    woken: Callable[[], Coroutine[Any, Any, Any]],
) -> Progress:
    """Let the guest compute, and record answers that arrive during a long computation.

    Args:
        guest: Runs the guest.
        keep: Records the answers that are not recorded yet; False if there are none.
        woken: Waits for another answer.
    """
    computing = asyncio.ensure_future(guest())
    try:
        await asyncio.wait({computing}, timeout=_KEEP_SECONDS)
        while not computing.done():
            if await keep():
                continue
            waking = asyncio.ensure_future(woken())
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


async def quiesce(run: CellRun, grace: float, keep: Callable[[], Awaitable[bool]]) -> None:
    """Wait until no call is running, for as long as the pause and the limits allow.

    Args:
        run: The run that made the calls.
        grace: Seconds that the pause waits at most.
        keep: Records answers as soon as they arrive, because the last may take long; False if there
            are none.
    """
    until = time.monotonic() + grace
    while at_work := _at_work(run):
        if await keep():
            continue
        wall, left = run.clock.wall_left(), until - time.monotonic()
        left = left if wall is None else min(wall, left)
        if left <= 0:
            return
        ended, _ = await asyncio.wait(at_work, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if not ended:
            return


def _at_work(run: CellRun) -> Sequence[asyncio.Task[None]]:
    started = run.requests.open.values()
    return [task for request, task in started if request.bridge != TIMER and not task.done()]
