"""Budgets of runs: their limits as records have them, and what recorded steps have spent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from interpstack.similar_names import did_you_mean
from interpstack_workflows.budgets.budget import BudgetLimits, RunBudget
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.stores.records import WorkflowRecord

__all__ = ["Limits", "check_names", "spent_budget", "stored_limits"]

#: Limits as hosts may write them: a number is one of tokens.
Limits: TypeAlias = BudgetLimits | Mapping[str, Any] | int | None
#: How like a known name a misspelt one is, from 0 to 1: one letter of five may differ.
_NEAR: Final = 0.75


def stored_limits(limits: Limits, inner: Mapping[str, Limits] | None = None) -> dict[str, Any]:
    """Return the limits of a run, as its record has them.

    Args:
        limits: Limits of the run.
        inner: Limits of phases and child workflows, by name.

    Raises:
        WorkflowError: A limit has an unknown name.
        ConfigurationError: A limit is not a number, or is below 0.
    """
    own = _limits(limits).to_json()
    named = {name: _limits(one).to_json() for name, one in (inner or {}).items()}
    return {**own, "inner": named} if named else own


def spent_budget(record: WorkflowRecord, entries: Sequence[Entry]) -> RunBudget:
    """Return the budget of a run that continues: each recorded step counts once.

    Args:
        record: The run.
        entries: Everything that it has recorded.
    """
    given = dict(record.budget)
    inner = {name: BudgetLimits(**limits) for name, limits in given.pop("inner", {}).items()}
    budget = RunBudget(BudgetLimits(**given), inner)
    names = _names_of_scopes(entries) if inner else {}
    for children in names.values():
        budget.met(children)
    for entry in entries:
        for step in entry.settled:
            if step.usage:
                within = (*names.get(entry.scope, ()), *_phase(step)) if inner else ()
                budget.replayed(WorkflowUsage.from_json(step.usage), within)
    return budget


def check_names(names: Iterable[str], known: Iterable[str], source: str) -> None:
    """Refuse a budget whose name is a misspelling of a known name.

    Scripts may make up names of phases while they run, so an unknown name alone is no fault. At its
    end, a run reports the budgets that limited nothing.

    Args:
        names: The names of the budgets.
        known: Announced phases, and workflows that scripts can call.
        source: The script.

    Raises:
        WorkflowError: A name is nearly that of a phase or of a workflow, and the script lacks it.
    """
    there = sorted(known)
    for name in names:
        if name in there or not isinstance(name, str) or name in source:
            continue
        if near := did_you_mean(name, there, alike=_NEAR, write="{!r:.80}".format):
            raise WorkflowError(
                f"budgets has limits for {name!r:.80}, and the workflow has no such phase or "
                f"child{near} If {name!r:.80} is a phase that "
                "the script names while it runs, announce it in `phases` of its meta"
            )


def _limits(limits: Limits) -> BudgetLimits:
    if isinstance(limits, BudgetLimits):
        return limits
    if not isinstance(limits, Mapping):
        return BudgetLimits(tokens=limits)
    known = [one.name for one in attrs.fields(BudgetLimits)]
    if unknown := sorted(set(limits) - set(known)):
        raise WorkflowError(
            f"budget has no limit {', '.join(unknown)}; it takes: {', '.join(known)}"
        )
    return BudgetLimits(**limits)


def _names_of_scopes(entries: Iterable[Entry]) -> dict[str, tuple[str, ...]]:
    """For each scope, the names of the workflows from below the root to it."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        for step in entry.settled:
            if step.started and step.kind == "workflow":
                above = found.get(entry.scope, ())
                found[f"{entry.scope}/{step.name}"] = (*above, step.value["name"])
    return found


def _phase(step: StepRecord) -> tuple[str, ...]:
    """Return the phase that an agent's step belonged to."""
    options = json.loads(step.signature).get("options") or {} if step.signature else {}
    phase = options.get("phase")
    return (phase,) if isinstance(phase, str) else ()
