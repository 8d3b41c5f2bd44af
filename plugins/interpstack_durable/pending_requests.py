"""Pending requests: a replayed guest has made them, and the journal may answer them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

import attrs

from interpstack import (
    MODULE,
    TIMER,
    Call,
    CellRun,
    GuestError,
    ImageError,
    Request,
    Settlement,
    Step,
    run_guest,
)
from interpstack_durable.in_flight import InFlightRegistry
from interpstack_durable.journal import Journal, Suspension

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

    async def replay(self, step: Step) -> None:
        """Count the requests that a recorded step answers, and repeat their output."""
        for guard in self.run.requests.guards:
            guard.restored(step, tuple(self.unstarted.values()))
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
        call = Call(request.bridge, request.wire)
        if settlement is not None and settlement.error is None and self.run.repeats(call):
            await self.run.deliver(call)
        return settlement

    async def take_undelivered(self, undelivered: Step) -> None:
        """Take answers that an earlier run recorded but did not pass to the guest."""
        ours = [one for one in undelivered.settlements if one.id in self.unstarted]
        self.undelivered |= {one.id: self.unstarted[one.id] for one in ours}
        await self.replay(undelivered)
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

    def go_on(self, suspension: Suspension) -> None:
        """Continue an unfinished run: its open requests become unstarted, as if just made."""
        self.run.clock.go_on(cpu_seconds=suspension.cpu_seconds)
        self.run.requests.counts.restore(suspension.made)
        for request in suspension.open:
            self.run.requests.counts.let_in(request)
            self.unstarted[request.id] = request
        for text, omitted in suspension.console:
            self.run.context.write_console(text, omitted)

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

    @property
    def out_of_time(self) -> bool:
        """Whether the time of the cell is up."""
        wall = self.run.clock.wall_left()
        return wall is not None and wall <= 0

    async def suspend(
        self,
        journal: Journal,
        steps: int,
        asked: tuple[Request, ...],
        attachments: InFlightRegistry | None = None,
    ) -> None:
        """Store the unfinished run, if it has a stored form; see `suspension`."""
        suspension = await self.suspension(steps, asked, attachments)
        if suspension is not None:
            await journal.suspend(suspension)

    async def suspension(
        self, steps: int, asked: tuple[Request, ...], attachments: InFlightRegistry | None = None
    ) -> Suspension | None:
        """Return the suspended run; `None` if it has ended or has no stored form.

        Args:
            steps: The number of steps that the guest has received.
            asked: Requests that the guest made since the last of them.
            attachments: Keeps attachments in memory, for an image that stands for the live realm.
                Without it, a run with attachments has no stored form.
        """
        context = self.run.context
        attached = tuple(context.attachments)
        console = (
            context if attachments is None else attrs.evolve(context, attachments=[])
        ).console
        if console is None or self.run.answered:
            return None
        try:
            image = await run_guest(self.run.realm.image, lambda: None)
        except ImageError:
            return None  # the guest is not in a state from which it could continue
        if attachments is not None:
            attachments.keep_attached(image, attached)
        return Suspension(
            image=image,
            steps=steps,
            asked=asked,
            open=tuple(self.undelivered.values()),
            made=self.made,
            console=console,
            cpu_seconds=self.run.clock.cpu_seconds,
        )
