"""What a guest is told at once, and the record of a run as guards and handlers see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from interpstack.protocol import Settlement

__all__ = ["RunRecord", "Step"]


@attrs.frozen
class Step:
    """What a guest is told at once.

    Attributes:
        now: The guest's clock from then on, in seconds since 1970.
        settlements: Answers, in the order in which they came.
        drawn: What the cell's guards had counted by then, by kind; see `CellGuard.amounts`.
    """

    now: float
    settlements: tuple[Settlement, ...] = ()
    drawn: Mapping[str, float] = attrs.field(factory=dict)


class RunRecord:
    """The record of one run of a cell; by default there is none.

    Attributes:
        seed: For the cell, the same in every run; `None` for a random one.
        repeats: Whether a cell that is left early will be run again, from the same state.
    """

    seed: int | None = None
    repeats: bool = False

    def amounts(self) -> Sequence[Mapping[str, Any]]:
        """The records that guards kept in earlier runs, in no order."""
        return ()

    async def keep_amounts(self, record: Mapping[str, Any]) -> None:
        """Keep what a guard has counted since the last step; returns once it is safe.

        Called before what the cell's calls run, such as a subagent, acts; while other methods are
        under way, and also after a pause, by calls that are still at work.

        Args:
            record: Plain data of the guard's own form. Its items `run` and `number` identify it
                among all records of the cell.
        """
