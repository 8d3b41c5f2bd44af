"""The census of a run: counts of its steps, and what their failures were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from interpstack_workflows.steps.entries import StepRecord

__all__ = ["Census"]

#: Different errors that are listed, and characters of each.
_ERRORS: Final = 20
_ERROR_CHARS: Final = 200
#: Agents that are counted by name; scripts choose no more names than the host has agents.
_OTHER: Final = "other"


class Census:
    """Count the ends of a run's steps, in this activation and in earlier ones."""

    def __init__(self) -> None:
        self._ok: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._agents: dict[str, Counter[str]] = {}
        self._errors: Counter[tuple[str, str]] = Counter()
        self._dropped = 0

    def count(self, step: StepRecord, agent: str | None = None) -> None:
        """Count the end of a step.

        Args:
            step: Its record.
            agent: The agent that it called.
        """
        (self._ok if step.ok else self._failed)[step.kind] += 1
        self._dropped += step.dropped
        if agent is not None:
            self._agents.setdefault(agent, Counter())["ok" if step.ok else "failed"] += 1
        if not step.ok:
            error = step.error or {}
            key = str(error.get("name", "Error")), str(error.get("message", ""))[:_ERROR_CHARS]
            if key not in self._errors and len(self._errors) >= _ERRORS:
                key = _OTHER, ""
            self._errors[key] += 1

    def dropped(self, count: int) -> None:
        """Count failures that `parallel` and `pipeline` turned into null."""
        self._dropped += count

    def to_json(self) -> Mapping[str, Any]:
        """Counts of steps that succeeded and failed, by kind and by agent, and their errors.

        Equal censuses are equal JSON, whatever the order of the steps.
        """
        census: dict[str, Any] = {
            "ok": dict(self._ok),
            "failed": dict(self._failed),
            "dropped": self._dropped,
        }
        if self._agents:
            census["agents"] = {name: dict(counts) for name, counts in self._agents.items()}
        if self._errors:
            census["errors"] = [
                {"name": name, "message": message, "count": count}
                for (name, message), count in sorted(
                    self._errors.items(), key=lambda one: (-one[1], one[0])
                )
            ]
        return census
