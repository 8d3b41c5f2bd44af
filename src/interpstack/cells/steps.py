"""Sources of a cell's steps, which compute them or take them from a record."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final

import attrs

from interpstack.cells.clock import CellClock
from interpstack.cells.requests import Requests
from interpstack.contracts.engine import Capability, Realm
from interpstack.contracts.extensions import CellExtension
from interpstack.contracts.outcome import CellContext
from interpstack.contracts.protocol import Image, Notification, Progress, Request, Settlement
from interpstack.contracts.steps import RunRecord, Step

__all__ = ["CellRun", "StepSource"]

#: Seconds that a notification's handler has at the least, however late the cell is.
_DELIVERY_SECONDS: Final = 5.0


@attrs.define(eq=False, repr=False)
class CellRun:
    """One run of a cell, as a step source sees it.

    Attributes:
        realm: Runs the cell.
        requests: The requests of the cell.
        context: Collects the bridges' additions to the outcome.
        clock: Counts the cell's time.
        resumed: The realm was opened in the middle of the cell.
        answered: Whether the cell has its result, and only finishes unawaited requests.
    """

    realm: Realm
    requests: Requests
    context: CellContext
    clock: CellClock
    resumed: bool = False
    answered: bool = False

    def answer(self) -> None:
        """Note that the cell has its result."""
        self.answered = True

    async def deliver(self, notification: Notification) -> None:
        """Hand a notification to its bridge, and the output of a cell that ran out of time, too."""
        left = self.clock.wall_left()
        seconds = left if left is None else max(left, _DELIVERY_SECONDS)
        await self.requests.deliver(notification.bridge, notification.wire, seconds)

    def repeats(self, notification: Notification) -> bool:
        """Whether a notification may be delivered in every run of the cell."""
        bridge = self.requests.bridges.get(notification.bridge)
        return bridge is not None and bridge.repeats


class StepSource(CellExtension, RunRecord):
    """A source of one cell's steps; opened by `interpstack_open_cell`.

    These methods make the steps of a cell without a record: each call is made, and each answer is
    delivered when it arrives. A source with a record delivers recorded answers instead of making
    calls again, and records new answers before it delivers them.

    Attributes:
        run: The run of the cell; set by `begin`, until the cell has ended.
    """

    run: CellRun

    async def open(self, capabilities: Collection[Capability]) -> Image | None:
        """Read the record, before anything else is done.

        Args:
            capabilities: The engine's capabilities.

        Returns:
            The image of a realm in the middle of the cell, from which this run is to go on. `None`
            to run the cell from its start; that is also done where the image cannot be opened.
        """
        return None

    def begin(self, run: CellRun) -> float:
        """Take up the run; the clock of the first poll, in seconds since 1970."""
        self.run = run
        return time.time()

    async def compute(self, guest: Callable[[], Awaitable[Progress]]) -> Progress:
        """Let the guest compute until it is idle or has used its time up.

        Args:
            guest: Runs the guest, once. The realm is in use until the awaitable is done.
        """
        return await guest()

    async def take(self, progress: Progress) -> None:
        """Deliver the notifications of a guest, start its requests, and drop cancelled ones."""
        for notification in progress.notifications:
            await self.run.deliver(notification)
        for request in progress.requests:
            self.run.requests.start(request)
        for request_id in progress.cancelled:
            self.drop(request_id)

    async def next(self) -> Step | None:
        """The next step; `None` if no request is open, or if the time is up first.

        Raises:
            BaseException: An exception of a handler that its bridge declared to be the host's own
                (`Bridge.passes`), or the one that a record raises in its place.
        """
        requests = self.run.requests
        if requests.idle:
            return None
        in_time = await requests.wait(self.run.clock.wall_left())
        if requests.paused:
            raise requests.paused[0][1]
        return Step(time.time(), tuple(requests.take_settled())) if in_time else None

    async def earlier(self, request: Request) -> Settlement | None:
        """The answer of a call that an earlier run made; `None` to make the call now."""
        return None

    def grace(self, request_id: int) -> float:
        """Seconds that a cancelled request gets to end by itself, because its call was made."""
        return 0.0

    def ends(self) -> None:
        """Note that the run has reached its end; requests that are open are cancelled next."""

    def ended(self) -> None:
        """Let go of the run, which has reached its end; the run refers to its source, too."""
        vars(self).pop("run", None)

    @property
    def outstanding(self) -> Sequence[Request]:
        """Requests that are not answered yet."""
        return self.run.requests.outstanding

    def drop(self, request_id: int) -> None:
        """Cancel a request whose answer the guest does not want any more."""
        self.run.requests.drop(request_id)

    async def stopped(self, notifications: Sequence[Notification]) -> None:
        """Deliver the last notifications of a guest that was stopped, if they may be repeated."""
        for notification in notifications:
            if self.run.repeats(notification):
                await self.run.deliver(notification)

    @property
    def records(self) -> bool:
        """Whether answers that come now are recorded, so that handlers should finish."""
        return False

    async def left(self, error: BaseException) -> None:
        """Note that `error` ended the run early; its requests have ended or were cancelled."""
