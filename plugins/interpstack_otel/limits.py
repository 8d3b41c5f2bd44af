"""The limits that evals and calls ran into, and names of errors fit for metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from interpstack import Outcome, Settlement
from interpstack_otel.names import OTHER

__all__ = ["Limit", "limit_of", "limit_of_call", "limits_hit", "metric_error"]

#: A kind of limit: a field of `Limits`, or the budget of an account.
Limit: TypeAlias = Literal[
    "cpu_seconds",
    "wall_seconds",
    "memory_bytes",
    "requests",
    "budget",
    "result_chars",
    "console_chars",
]

#: Limits by the name of the error of an eval that the host or the engine stopped.
_STOPPED: Final[Mapping[str, Limit]] = {
    "BudgetExceeded": "budget",
    "OutOfMemory": "memory_bytes",
    "Timeout": "cpu_seconds",
}
#: Limits by the name of the error of a refused call.
_REFUSED: Final[Mapping[str, Limit]] = {
    "BudgetExceeded": "budget",
    "CallBudgetExceeded": "requests",
}
#: Names of errors that metrics show. Code may choose any other name, and metrics need few values.
_KNOWN: Final = frozenset(
    {
        *_STOPPED,
        *_REFUSED,
        "CellRefused",
        "Deadlock",
        "EngineFailure",
        "Error",
        "ModuleNotFound",
        "PluginError",
        "RangeError",
        "ReferenceError",
        "SyntaxError",
        "ToolError",
        "TypeError",
    }
)


def limits_hit(outcome: Outcome, time: Limit | None, *, computed: bool) -> tuple[Limit, ...]:
    """The limits that an eval ran into.

    Args:
        outcome: The outcome.
        time: The limit of time that ended the cell, if one did.
        computed: Whether any code ran; a name before that is the host's own.
    """
    found: list[Limit] = [] if time is None else [time]
    error = outcome.error
    if not found and error is not None and (outcome.stopped or not computed):
        found += [_STOPPED[error.name]] if error.name in _STOPPED else []
    if outcome.omitted_chars or outcome.shortened:
        found.append("result_chars")
    if outcome.console_omitted_chars:
        found.append("console_chars")
    return tuple(found)


def limit_of(outcome: Outcome, hits: Iterable[Limit]) -> Limit | None:
    """The limit, among those that an eval ran into, that ended the eval; `None` without one."""
    ends = (kind for kind in hits if outcome.error and not kind.endswith("chars"))
    return next(ends, None)


def limit_of_call(settlement: Settlement) -> Limit | None:
    """The limit that refused a call, if one did."""
    error = settlement.error
    return _REFUSED.get(error.name) if settlement.refused and error is not None else None


def metric_error(name: str | None) -> dict[str, str]:
    """The attribute of a metric for an error's name; none without an error."""
    return {} if name is None else {"error.type": name if name in _KNOWN else OTHER}
