"""Steps, and the record of a run as guards and handlers see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from interpstack.checks import Value
from interpstack.contracts.protocol import Settlement

__all__ = ["RunRecord", "Step"]


@attrs.frozen(eq=False, repr=False)
class Step(Value):
    """A step: the clock and the answers that a guest receives at once.

    Attributes:
        now: The guest's clock from then on, in seconds since 1970.
        settlements: Answers, in the order in which they came.
        drawn: The amounts of the cell's guards by then, by kind; see `CellGuard.amounts`.
    """

    now: float
    settlements: tuple[Settlement, ...] = ()
    drawn: Mapping[str, float] = attrs.field(factory=dict)


class RunRecord:
    """The record of one run of a cell; by default there is none.

    Attributes:
        seed: For the cell, the same in every run; `None` for a random one.
        repeats: Whether a cell that ends early will be run again, from the same state.
        begun: Whether an earlier run of the cell is on record; known once the record is open.
    """

    seed: int | None = None
    repeats: bool = False
    begun: bool = False

    def amounts(self) -> Sequence[Mapping[str, Any]]:
        """The records that guards stored in earlier runs, in no order."""
        return ()

    async def keep_amounts(self, record: Mapping[str, Any]) -> None:
        """Record a guard's amounts since the last step; returns once they are safe.

        Called before code that the cell's calls run, such as a subagent, acts: possibly while
        another method runs, and also after a pause, by calls that still run.

        Args:
            record: Plain data of the guard's own form. Its items `run` and `number` identify it
                among all records of the cell.
        """
