"""Limits of one run of a cell: the guards of plugins, and the number of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Literal, TypeAlias

import attrs

from interpstack.bridges import Bridge, BridgeSet
from interpstack.cells.outcome import Outcome
from interpstack.cells.step import RunRecord, Step
from interpstack.limits import Limits
from interpstack.protocol import MODULE, TIMER, Cell, GuestError, Request, Settlement

__all__ = ["CellGuard", "Guards", "RequestCounts", "Seconds"]

#: Which time: of the guest, or of the whole cell, waiting included.
Seconds: TypeAlias = Literal["cpu_seconds", "wall_seconds"]


class CellGuard:
    """A guard, which limits the resources of one run of a cell, and counts them.

    A method that a guard does not define allows everything and counts nothing. A cell may have
    several guards: the smallest allowance holds, and one refusal is enough.
    """

    def begin(self, cell: Cell, record: RunRecord, *, resumed: bool) -> None:
        """Prepare for the run; called before any code runs.

        Args:
            cell: The cell, with its seed.
            record: The record of the run.
            resumed: Whether the run continues in the middle, and must not be refused.

        Raises:
            GuestException: The cell may not begin; the outcome has this error.
        """

    def running(self) -> AbstractContextManager[None]:
        """Surround the run; entered after `begin`, and always left at its end."""
        return nullcontext()

    def allowance(self, kind: Seconds) -> float | None:
        """Seconds of this kind that the cell may still use; `None` for no limit."""
        return None

    def exceeded(self, cpu: float | None, wall: float | None) -> GuestError | None:
        """The error of a cell that ran out of time; `None` if its own limits were tighter.

        Args:
            cpu: Remaining seconds of the cell's own limit of guest time; `None` for no limit.
            wall: Remaining seconds of the cell's own limit on wall time; `None` for no limit.
        """
        return None

    def admit(self, bridge: Bridge, request: Request) -> GuestError | None:
        """Count a request that is about to be made; the error if it is refused."""
        return None

    async def before_call(self) -> None:
        """Wait until the handler of an admitted request may begin to work."""

    def restored(self, step: Step, asked: Iterable[Request]) -> None:
        """Count the use of earlier runs up to a recorded step.

        Args:
            step: The replayed step; `Step.drawn` has the `amounts` at that time.
            asked: Requests that the guest has made and that are not answered yet.
        """

    def replayed(self, bridge: Bridge | None, request: Request, settlement: Settlement) -> None:
        """Count a request that is answered from the record, so nothing is called for it."""

    def resumed(self, bridges: BridgeSet, made: Mapping[str, int]) -> None:
        """Count requests that a run made before it was suspended.

        Args:
            bridges: The session's bridges.
            made: Requests by the name of their bridge, refused ones included.
        """

    def computed(self, seconds: float) -> None:
        """Count guest time."""

    def amounts(self) -> Mapping[str, float]:
        """The use so far, by kind, to be recorded with a step.

        Each guard finds all kinds in `Step.drawn`. Of two guards with one kind, the larger amount
        is recorded, so that neither goes on with less than it had counted.
        """
        return {}

    def finish(self, outcome: Outcome, limits: Limits) -> Outcome:
        """Count the output of an outcome; returns the outcome, possibly cut.

        Args:
            outcome: How the cell ended.
            limits: The limits of the stack.
        """
        return outcome


@attrs.frozen
class Guards:
    """All guards of one run of a cell, in the order of their plugins."""

    _all: tuple[CellGuard, ...] = ()

    def __iter__(self) -> Iterator[CellGuard]:
        return iter(self._all)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Enter all of `CellGuard.running`, the first outermost."""
        with ExitStack() as block:
            for guard in self._all:
                block.enter_context(guard.running())
            yield

    def least(self, kind: Seconds, own: float | None) -> float | None:
        """The smallest of the cell's own seconds and all allowances."""
        given = (own, *(guard.allowance(kind) for guard in self._all))
        return min((one for one in given if one is not None), default=None)

    def exceeded(self, cpu: float | None, wall: float | None) -> GuestError | None:
        """The first error that a guard has for a cell out of time."""
        errors = (guard.exceeded(cpu, wall) for guard in self._all)
        return next((error for error in errors if error is not None), None)

    def admit(self, bridge: Bridge, request: Request) -> GuestError | None:
        """The first refusal; guards behind it are not asked."""
        errors = (guard.admit(bridge, request) for guard in self._all)
        return next((error for error in errors if error is not None), None)

    def amounts(self) -> dict[str, float]:
        """The amounts of all guards; of one kind, the largest."""
        amounts: dict[str, float] = {}
        for guard in self._all:
            for kind, amount in guard.amounts().items():
                amounts[kind] = max(amount, amounts.get(kind, amount))
        return amounts

    def finish(self, outcome: Outcome, limits: Limits) -> Outcome:
        """See `CellGuard.finish`; each guard gets the outcome of the previous guard."""
        for guard in self._all:
            outcome = guard.finish(outcome, limits)
        return outcome


@attrs.define(eq=False)
class RequestCounts:
    """Counts the requests of one cell, without timers and imports.

    Attributes:
        bridges: What is offered; each bridge may have a budget.
        limits: How many requests may be made.
        guards: May refuse requests, and count them.
        made: Requests so far.
        limited: Those among them that `Limits.requests` counts.
        by_bridge: The same as `made`, by bridge.
    """

    bridges: BridgeSet
    limits: Limits
    guards: Guards
    made: int = 0
    limited: int = 0
    by_bridge: dict[str, int] = attrs.field(factory=dict)
    _numbers: dict[int, tuple[int, int]] = attrs.field(factory=dict)

    def number(self, request: Request) -> None:
        """Count a request when it is asked for: which ones are too many is the same in every run.

        Those that a recorded step refuses are told of before others that were let in are started.
        """
        if request.bridge in (TIMER, MODULE) or request.id in self._numbers:
            return
        self.made += 1
        of_bridge = self.by_bridge[request.bridge] = self.by_bridge.get(request.bridge, 0) + 1
        limited = self._is_limited(request.bridge)
        self.limited += limited
        self._numbers[request.id] = (self.limited if limited else 0, of_bridge)

    def let_in(self, request: Request) -> None:
        """Count a request that an earlier run let in, so that no limit refuses it."""
        self.number(request)
        if request.id in self._numbers:
            self._numbers[request.id] = (0, 0)

    def replayed(self, request: Request, settlement: Settlement) -> None:
        """Count a request that is answered from a record: no call is made for it."""
        if self._numbers.pop(request.id, None) is not None:
            for guard in self.guards:
                guard.replayed(self.bridges.get(request.bridge), request, settlement)

    def restore(self, made: Mapping[str, int]) -> None:
        """Go on counting after requests of an earlier run, by bridge."""
        self.by_bridge, self.made = dict(made), sum(made.values())
        self.limited = sum(number for name, number in made.items() if self._is_limited(name))
        for guard in self.guards:
            guard.resumed(self.bridges, made)

    def refuse(self, request: Request, bridge: Bridge | None) -> GuestError | None:
        """The error of a numbered request that may not be made; `None` to make it."""
        number, of_bridge = self._numbers.pop(request.id)
        tool = {"tool": request.bridge}
        if self.limits.requests is not None and number > self.limits.requests:
            message = f"the cell may make {self.limits.requests} calls; this was one more"
            return GuestError("CallBudgetExceeded", message, data=tool)
        if bridge is None or not bridge.awaited:
            message = f"{request.bridge} is not offered in this session, or not any more"
            return GuestError("ToolError", message, data=tool)
        if bridge.budget is not None and of_bridge > bridge.budget:
            message = f"the cell may call {bridge.name} {bridge.budget} times; this was one more"
            return GuestError("CallBudgetExceeded", message, data=tool)
        return self.guards.admit(bridge, request)

    def _is_limited(self, name: str) -> bool:
        bridge = self.bridges.get(name)
        return bridge is None or bridge.counted
