"""Extensions of evals, cells and requests by plugins; among them guards, which limit a cell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, TypeAlias, TypeVar

from interpstack.contracts.bridges import Bridge, BridgeSet
from interpstack.contracts.limits import Limits
from interpstack.contracts.outcome import Outcome
from interpstack.contracts.protocol import Cell, GuestError, Request, Settlement
from interpstack.contracts.steps import RunRecord, Step

__all__ = ["CellExtension", "CellGuard", "Seconds", "Wrapper"]

_T = TypeVar("_T")
#: Gets the function that makes the call, awaits it once or not at all, and returns the call's
#: value or another. The call's own exceptions, such as a pause or a cancellation, reach the host
#: even if a wrapper catches them.
Wrapper: TypeAlias = Callable[[Callable[[], Awaitable[_T]]], Awaitable[_T]]
#: Which time: of the guest, or of the whole cell, waiting included.
Seconds: TypeAlias = Literal["cpu_seconds", "wall_seconds"]


class CellExtension:
    """Base class of the extensions of one run of a cell; see `interpstack_open_cell`.

    A `CellGuard` limits the resources of the run; a `StepSource` supplies the guest's steps.
    """


class CellGuard(CellExtension):
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
        """Count the use of earlier runs, of which this guard may know a part or all.

        Args:
            step: A recorded step, or the end of a call that an earlier run left in flight;
                `Step.drawn` has the `amounts` of that run at that time.
            asked: Requests that the guest has made and that were not answered before this step.
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
