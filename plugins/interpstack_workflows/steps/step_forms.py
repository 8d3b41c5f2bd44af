"""The forms of what steps of each kind record, checked where a store is read.

Runs are worked on by the values of their records. Other programs may have changed a store, so a
record whose values have other forms is refused before any step runs by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from interpstack import ConfigurationError
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.steps.entries import Entry, StepRecord

__all__ = ["check_entry"]

_Fits = Callable[[Any], bool]


def check_entry(entry: Entry) -> None:
    """Refuse an entry whose values no step records.

    Raises:
        WorkflowError: The entry is damaged; the message says which part.
    """
    total, spent = entry.budget.get("total"), entry.budget.get("spent", 0)
    if not ((total is None or _is_number(total)) and _is_number(spent)):
        raise _damaged("the budget of an entry")
    for step in entry.settled:
        _check_step(step)


def _check_step(step: StepRecord) -> None:
    what = f"the step {step.name!r:.60}"
    if not _is_signature(step.signature):
        raise _damaged(f"the signature of {what}")
    if step.usage:
        try:
            WorkflowUsage.from_json(step.usage)
        except ConfigurationError as error:
            raise _damaged(f"the usage of {what}") from error
    failure = step.error or {}
    if not all(_is_text(failure.get(name, "")) for name in ("name", "message", "stack")):
        raise _damaged(f"the error of {what}")
    forms = _BEGUN.get(step.kind, _MOMENT) if step.started else _ENDED.get(step.kind)
    if forms is None or not step.ok:
        return
    value = step.value
    if not step.started and type(value) is dict and "value" not in value:
        raise _damaged(f"the value of {what}")
    if type(value) is not dict or not all(fits(value.get(key)) for key, fits in forms.items()):
        raise _damaged(f"the value of {what}")


def _damaged(what: str) -> WorkflowError:
    return WorkflowError(f"the record of the run is damaged: {what} is malformed")


def _is_signature(text: str) -> bool:
    if not text:
        return True
    try:
        inputs = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return type(inputs) is dict and (
        inputs.get("options") is None or type(inputs["options"]) is dict
    )


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_text_or_none(value: Any) -> bool:
    return value is None or type(value) is str


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300


def _is_whole_or_none(value: Any) -> bool:
    return value is None or type(value) is int


#: Values of steps that have only begun: each has its time.
_MOMENT: Final[Mapping[str, _Fits]] = {"now": _is_number}
_BEGUN: Final[Mapping[str, Mapping[str, _Fits]]] = {
    "ask": {**_MOMENT, "asked": _is_whole_or_none},
    "workflow": {
        **_MOMENT,
        "name": _is_text,
        "source": _is_text,
        "source_name": _is_text,
        "path": _is_text_or_none,
        "spent": _is_number,
    },
    "agent": {
        **_MOMENT,
        "count": lambda value: type(value) is int,
        "approvals": lambda value: value is None or type(value) is list,
        "since": lambda value: value is None or _is_number(value),
        "attempt": _is_whole_or_none,
        "faults": lambda value: value is None or type(value) is list,
        "worktree": lambda value: value is None or type(value) is dict,
    },
}
#: Values of questions and signals that were answered, with the numbers of the messages.
_ANSWERED: Final[Mapping[str, _Fits]] = {"message": _is_whole_or_none}
_ENDED: Final[Mapping[str, Mapping[str, _Fits]]] = {"ask": _ANSWERED, "wait": _ANSWERED}
