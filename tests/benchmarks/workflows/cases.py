"""The cases of the table of workflows, and the row that each figure becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cases import Case
from shown import count, ms, number_of_bytes

__all__ = ["CASES", "OTHERS", "ROWS", "WorkflowCase", "WorkflowRow"]

#: The modules of the other sides, and their distributions.
OTHERS = {"dbos_side": "dbos", "langgraph_side": "langgraph"}


@dataclass(frozen=True)
class WorkflowCase(Case):
    """One workload of workflows.

    Attributes:
        by: The other sides that can do it; each is a module of this package.
    """

    by: tuple[str, ...] = tuple(OTHERS)

    @property
    def sides(self) -> tuple[str, ...]:
        """The modules of all sides."""
        return tuple(f"workflows.{side}" for side in ("ours", *self.by))


@dataclass(frozen=True)
class WorkflowRow:
    """One line of the table.

    Attributes:
        title: What is measured.
        case: The case that yields it.
        figure: The name of the figure.
        show: Makes it readable.
        faster: Target: how many times as fast as the better of the others.
        at_most: Target for the figure itself.
    """

    title: str
    case: str
    figure: str
    show: Callable[[float], str] = ms
    faster: float | None = None
    at_most: float | None = None

    @property
    def target(self) -> str:
        """The target in words; empty if there is none."""
        if self.faster is not None:
            return f"≥ {self.faster:g} x"
        return "" if self.at_most is None else f"≤ {self.show(self.at_most)}"

    def met(self, ours: float, others: list[float]) -> bool:
        """Whether the target is reached."""
        if self.faster is not None:
            return bool(others) and min(others) >= self.faster * ours
        return self.at_most is None or ours <= self.at_most


CASES = (
    WorkflowCase("sequential", 7),
    WorkflowCase("parallel", 7),
    WorkflowCase("resumed", 5),
    WorkflowCase("waiting", 1, by=("dbos_side",)),
)

ROWS = (
    WorkflowRow("1,000 steps, one after another", "sequential", "s", faster=2),
    WorkflowRow("1,000 steps at once", "parallel", "s", faster=2),
    WorkflowRow("resume of a run with 1,000 finished steps", "resumed", "s", at_most=0.5),
    WorkflowRow("memory of a waiting run", "waiting", "bytes", number_of_bytes, at_most=50_000),
    WorkflowRow("threads of 1,000 waiting runs", "waiting", "threads", count, at_most=0),
    WorkflowRow("1,000 runs due in one second, woken late by: median", "waiting", "median"),
    WorkflowRow("… the last of them", "waiting", "worst", at_most=1.0),
)
