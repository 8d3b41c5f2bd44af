"""Pending requests: a replayed guest has made them, and the journal may answer them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

import attrs

from interpstack import (
    MODULE,
    TIMER,
    CellRun,
    GuestError,
    Notification,
    Request,
    Settlement,
    Step,
)
from interpstack_durable.in_flight import InFlightRegistry

__all__ = ["PendingRequests"]

#: Requests that count against no limit.
_BUILT_IN = (TIMER, MODULE)


@attrs.define(eq=False, repr=False)
class PendingRequests:
    """The pending requests of one run, which start when the journal has no more answers.

    Attributes:
        run: The run that made the requests.
        unstarted: Requests that are not started, by id.
        undelivered: Started requests whose answers the guest has not received, by id.
    """

    run: CellRun
    unstarted: dict[int, Request] = attrs.field(factory=dict)
    undelivered: dict[int, Request] = attrs.field(factory=dict)

    def add(self, request: Request) -> None:
        """Add a request that a recorded step may answer."""
        self.run.requests.counts.number(request)
        self.unstarted[request.id] = request

    def start(self, request: Request) -> None:
        """Begin to answer a request."""
        self.undelivered[request.id] = request
        self.run.requests.start(request)

    def release(self) -> None:
        """Start the unstarted requests, in order."""
        unstarted, self.unstarted = self.unstarted, {}
        for request in unstarted.values():
            self.start(request)

    async def replay(self, step: Step, made: int | None = None) -> None:
        """Count the requests that a recorded step answers, and repeat their output.

        Args:
            step: The step.
            made: See `UndeliveredAnswers`.
        """
        asked = [one for one in self.unstarted.values() if made is None or one.id <= made]
        for guard in self.run.requests.guards:
            guard.restored(step, tuple(asked))
        for settlement in step.settlements:
            request = self.unstarted.pop(settlement.id, None)
            if request is not None:
                self.run.requests.counts.replayed(request, settlement)
                await self.repeated(request, settlement)

    async def repeated(self, request: Request, settlement: Settlement | None) -> Settlement | None:
        """Deliver an answered request again, if its bridge only adds to the outcome.

        Returns:
            The answer; `None` if there was none.
        """
        notification = Notification(request.bridge, request.wire)
        if settlement is not None and settlement.error is None and self.run.repeats(notification):
            await self.run.deliver(notification)
        return settlement

    async def take_undelivered(self, undelivered: Step, made: int | None = None) -> None:
        """Take answers that an earlier run recorded but did not pass to the guest.

        Args:
            undelivered: A step with the answers.
            made: See `UndeliveredAnswers`.
        """
        ours = [one for one in undelivered.settlements if one.id in self.unstarted]
        self.undelivered |= {one.id: self.unstarted[one.id] for one in ours}
        await self.replay(undelivered, made)
        self.run.requests.settled.extend(ours)

    async def refuse(self, name: str, message: str) -> None:
        """Answer the unstarted requests with an error."""
        error = GuestError(name, f"{message}, so this was not done")
        refused = [Settlement(number, error=error, refused=True) for number in self.unstarted]
        await self.take_undelivered(Step(time.time(), tuple(refused)))

    def delivered(self, step: Step) -> None:
        """Note that the guest receives the answers of a step."""
        for settlement in step.settlements:
            self.undelivered.pop(settlement.id, None)

    def drop(self, request_id: int) -> None:
        """Remove a request whose answer the guest no longer needs."""
        self.unstarted.pop(request_id, None)
        self.undelivered.pop(request_id, None)

    def left_running(self, in_flight: InFlightRegistry) -> Sequence[Request]:
        """Return unanswered requests whose calls this run or an earlier one left running."""
        waiting = (*self.unstarted.values(), *self.undelivered.values())
        return [one for one in waiting if in_flight.get(self.run.requests.key(one.id)) is not None]

    def stop_left(self, in_flight: InFlightRegistry) -> None:
        """Stop the calls that were left running, because no run will take their answers."""
        for request in self.left_running(in_flight):
            in_flight.stop(self.run.requests.key(request.id))

    @property
    def made(self) -> dict[str, int]:
        """The number of answered requests, by bridge."""
        waiting = Counter(r.bridge for r in self.undelivered.values() if r.bridge not in _BUILT_IN)
        counts = self.run.requests.counts.by_bridge
        return {name: count - waiting[name] for name, count in counts.items()}
