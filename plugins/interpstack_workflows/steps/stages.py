"""The stages of a step that calls an agent, as the records of its beginnings keep them.

A step records its stage whenever it could be left there: when an attempt has failed and another one
follows, when the agent has to correct its answer, and when it waits for a person. So a run that is
stopped continues with the attempts that are left, and its budget knows what the others used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from interpstack_workflows.steps.entries import StepRecord

__all__ = ["AgentStage", "approvals_of", "begun_anew", "count_of", "stage_of"]


@attrs.frozen
class AgentStage:
    """The stage that the attempts of one step have reached.

    Attributes:
        attempt: The number of the attempt, from 1.
        faults: Faults of the answer that the agent is to correct; `None` if it has not answered.
        worktree: The work of an isolated agent so far; `None` if there is none.
        since: The time at which the last attempt failed, in seconds since 1970; `None` if no
            attempt failed before, or the pause after it is over.
    """

    attempt: int = 1
    faults: Sequence[str] | None = None
    worktree: Mapping[str, Any] | None = None
    since: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stage as a part of a record's value."""
        return attrs.asdict(self)


def stage_of(step: StepRecord | None) -> AgentStage:
    """Return the stage at which a step continues.

    Args:
        step: The record of its beginning; `None` if there is none.
    """
    began: Mapping[str, Any] = {} if step is None else step.value
    return AgentStage(
        began.get("attempt", 1), began.get("faults"), began.get("worktree"), began.get("since")
    )


def count_of(step: StepRecord | None) -> int:
    """Return the number of approvals that the agent of a step has asked for."""
    return 0 if step is None else int(step.value.get("count", 0))


def approvals_of(step: StepRecord | None) -> Sequence[Mapping[str, Any]] | None:
    """Return the approvals for which a step waits; `None` if it does not wait."""
    return None if step is None else step.value.get("approvals")


def begun_anew(step: StepRecord) -> StepRecord:
    """Return the record of the beginning of a step that failed, and whose attempts begin again.

    An approval that was decided stays decided: the agent continues behind it. The count of
    approvals stays, too, since each has an id of its own.
    """
    if approvals_of(step) is not None:
        return step
    return attrs.evolve(step, value={"now": step.value["now"], "count": count_of(step)})
