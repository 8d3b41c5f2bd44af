"""All guards of one run of a cell, asked together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import attrs

from interpstack.contracts.bridges import Bridge
from interpstack.contracts.extensions import CellGuard, Seconds
from interpstack.contracts.limits import Limits
from interpstack.contracts.outcome import Outcome
from interpstack.contracts.protocol import GuestError, Request

__all__ = ["Guards"]


@attrs.frozen(eq=False, repr=False)
class Guards:
    """All guards of one run of a cell, in the order of their plugins."""

    _all: tuple[CellGuard, ...] = ()

    def __iter__(self) -> Iterator[CellGuard]:
        return iter(self._all)

    def running(self) -> ExitStack:
        """Enter all of `CellGuard.running`, the first outermost; returns the block to leave."""
        with ExitStack() as block:
            for guard in self._all:
                block.enter_context(guard.running())
            return block.pop_all()

    def least(self, kind: Seconds, own: float | None) -> float | None:
        """The smallest of the cell's own seconds and all allowances."""
        given = (own, *(guard.allowance(kind) for guard in self._all)) if self._all else ()
        return min((one for one in given if one is not None), default=None) if given else own

    def exceeded(self, cpu: float | None, wall: float | None) -> GuestError | None:
        """The first error that a guard has for a cell out of time."""
        return next(filter(None, (guard.exceeded(cpu, wall) for guard in self._all)), None)

    def admit(self, bridge: Bridge, request: Request) -> GuestError | None:
        """The first refusal; guards behind it are not asked."""
        return next(filter(None, (guard.admit(bridge, request) for guard in self._all)), None)

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
