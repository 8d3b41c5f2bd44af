"""Requests that a replayed guest has made, and that the journal may answer."""

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
from interpstack_durable.flights import Flights
from interpstack_durable.journal import Journal, Suspension

__all__ = ["HeldRequests"]

#: Requests that are counted against no limit.
_BUILT_IN = (TIMER, MODULE)


@attrs.define(eq=False, repr=False)
class HeldRequests:
    """Holds back the requests of one run until the journal has no more answers.

    Attributes:
        run: Whose requests they are.
        held: Requests that are not started, by id.
        untold: Requests that were started, and whose answers the guest has not got.
    """

    run: CellRun
    held: dict[int, Request] = attrs.field(factory=dict)
    untold: dict[int, Request] = attrs.field(factory=dict)

    def hold(self, request: Request) -> None:
        """Note a request that a recorded step may answer."""
        self.run.requests.counts.number(request)
        self.held[request.id] = request

    def start(self, request: Request) -> None:
        """Begin to answer a request."""
        self.untold[request.id] = request
        self.run.requests.start(request)

    def release(self) -> None:
        """Start the requests that are held, in order."""
        held, self.held = self.held, {}
        for request in held.values():
            self.start(request)

    async def replay(self, step: Step) -> None:
        """Count the requests that a recorded step answers as made; add to the outcome again."""
        for guard in self.run.requests.guards:
            guard.restored(step, tuple(self.held.values()))
        for settlement in step.settlements:
            request = self.held.pop(settlement.id, None)
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
        ours = [one for one in undelivered.settlements if one.id in self.held]
        self.untold |= {one.id: self.held[one.id] for one in ours}
        await self.replay(undelivered)
        self.run.requests.settled.extend(ours)

    async def refuse(self, name: str, message: str) -> None:
        """Answer the requests that are held with an error."""
        error = GuestError(name, f"{message}, so this was not done")
        refused = [Settlement(number, error=error, refused=True) for number in self.held]
        await self.take_undelivered(Step(time.time(), tuple(refused)))

    def told(self, step: Step) -> None:
        """Note that the guest gets the answers of a step."""
        for settlement in step.settlements:
            self.untold.pop(settlement.id, None)

    def drop(self, request_id: int) -> None:
        """Forget a request whose answer the guest does not want any more."""
        self.held.pop(request_id, None)
        self.untold.pop(request_id, None)

    def go_on(self, suspension: Suspension) -> None:
        """Continue an unfinished run; its open requests are held, as if it had just made them."""
        self.run.clock.go_on(cpu_seconds=suspension.cpu_seconds)
        self.run.requests.counts.restore(suspension.made)
        for request in suspension.open:
            self.run.requests.counts.let_in(request)
            self.held[request.id] = request
        for text, omitted in suspension.console:
            self.run.context.write_console(text, omitted)

    def left_running(self, flights: Flights) -> Sequence[Request]:
        """Requests whose calls were left running, by this run or before, and have no answer yet."""
        waiting = (*self.held.values(), *self.untold.values())
        return [one for one in waiting if flights.get(self.run.requests.key(one.id)) is not None]

    def stop_left(self, flights: Flights) -> None:
        """Stop these calls, because nobody will take their answers."""
        for request in self.left_running(flights):
            flights.stop(self.run.requests.key(request.id))

    @property
    def made(self) -> dict[str, int]:
        """The number of requests before the unanswered ones, by bridge."""
        waiting = Counter(r.bridge for r in self.untold.values() if r.bridge not in _BUILT_IN)
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
        parked: Flights | None = None,
    ) -> None:
        """Store the unfinished run, if it has a stored form; see `suspension`."""
        suspension = await self.suspension(steps, asked, parked)
        if suspension is not None:
            await journal.suspend(suspension)

    async def suspension(
        self, steps: int, asked: tuple[Request, ...], parked: Flights | None = None
    ) -> Suspension | None:
        """The suspended run; `None` if it was answered or has attachments that cannot be stored.

        Args:
            steps: The number of steps that the guest has received.
            asked: Requests that the guest made since the last of them.
            parked: Keeps attachments in memory, for an image that stands for the live realm.
        """
        context = self.run.context
        attached = tuple(context.attachments)
        console = (context if parked is None else attrs.evolve(context, attachments=[])).console
        if console is None or self.run.answered:
            return None
        try:
            image = await run_guest(self.run.realm.image, lambda: None)
        except ImageError:
            return None  # the guest is not in a state from which it could go on
        if parked is not None:
            parked.keep_attached(image, attached)
        return Suspension(
            image=image,
            steps=steps,
            asked=asked,
            open=tuple(self.untold.values()),
            made=self.made,
            console=console,
            cpu_seconds=self.run.clock.cpu_seconds,
        )
