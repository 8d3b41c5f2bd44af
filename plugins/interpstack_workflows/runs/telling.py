"""Events of a run, and the census of its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from interpstack_workflows.steps.entries import StepRecord

__all__ = ["RunTeller"]


class RunTeller:
    """Tells of a run as it goes.

    Args:
        run_id: Identifies the run.
        emit: Takes the events.
    """

    def __init__(self, run_id: str, emit: Callable[[Any], None]) -> None:
        self._run_id = run_id
        self._emit = emit
        self._ok: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._dropped = 0

    def tell(self, kind: str, scope: str = "", **fields: Any) -> None:
        """Emit an event."""
        self._emit({"type": f"workflow.{kind}", "runId": self._run_id, "scope": scope, **fields})

    def count(self, step: StepRecord) -> None:
        """Count the end of a step, of this stay or of an earlier one."""
        (self._ok if step.ok else self._failed)[step.kind] += 1

    def dropped(self, count: int) -> None:
        """Count failures that `parallel` and `pipeline` turned into null."""
        self._dropped += count

    def census(self) -> Mapping[str, Any]:
        """Counts of steps that succeeded and failed, by kind, and of failures that became null."""
        return {"ok": dict(self._ok), "failed": dict(self._failed), "dropped": self._dropped}
