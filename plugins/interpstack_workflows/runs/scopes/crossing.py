"""Convert the values that cross to the module of a scope: its input, and the ends of steps."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from interpstack_workflows.runs.failures import as_failed
from interpstack_workflows.runs.values import ScopePlace
from interpstack_workflows.runtime.boundary import (
    ModuleBudget,
    Resolution,
    UndefinedResolution,
    ValueResolution,
    ValueWithBudget,
    WorkflowModuleInput,
)
from interpstack_workflows.steps.entries import StepRecord

__all__ = ["module_input", "resolution"]


def module_input(
    place: ScopePlace, seed: int, total: int | None, modules: Mapping[str, str]
) -> WorkflowModuleInput:
    """Return the input of a scope's module.

    Args:
        place: The scope.
        seed: The seed of the run, from which each scope gets its own.
        total: The tokens of the run's budget. Each answer brings the tokens spent by then, as
            they were recorded.
        modules: Sources of the host's modules, by specifier.
    """
    digest = hashlib.sha256(f"{seed}/{place.scope}".encode()).digest()
    return WorkflowModuleInput(
        source=place.script.source,
        source_name=place.script.source_name,
        args=place.args,
        seed=int.from_bytes(digest[:4]),
        budget=ModuleBudget(total, place.spent),
        modules=modules,
    )


#: Budgets are the same for many steps: those that end together, or that use no tokens.
_module_budget: Final = lru_cache(maxsize=16, typed=True)(ModuleBudget)


def resolution(step: StepRecord, budget: Mapping[str, Any]) -> Resolution:
    """Return the resolution that a module gets at the end of a step.

    Args:
        step: The record of its end.
        budget: The record of the budget at that time.
    """
    shared = _module_budget(budget.get("total"), budget.get("spent", 0)) if budget else None
    if not step.ok:
        return as_failed(step.error or {}, shared)
    if step.kind == "sleep":
        return UndefinedResolution()
    value = step.value["value"] if step.kind in ("ask", "wait") else step.value
    return ValueResolution(value) if shared is None else ValueWithBudget(value, shared)
