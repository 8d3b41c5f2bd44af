"""Entries of a run's record, and their stored form.

The record of a run is one sequence of entries for all its scopes. An entry is made when steps of a
scope have ended, or when one that takes long has begun. No effect starts before all earlier entries
are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack_workflows.errors import WorkflowError

__all__ = ["Entry", "StepRecord", "entry_from_json", "entry_to_json"]

#: The number of the stored form.
_FORM: Final = 1
#: No time is further from 1970, in seconds; JavaScript's dates end there.
_LATEST: Final = 8.64e12
#: Fields of a stored entry.
_ENTRY: Final = frozenset({"form", "scope", "now", "settled", "budget"})
_NONE: Final = type(None)


@attrs.frozen(kw_only=True)
class StepRecord:
    """The record of one step.

    Attributes:
        name: See `StepNames`.
        signature: The inputs of the step as canonical JSON.
        kind: The kind of the step, such as `agent`.
        ok: Whether the step succeeded.
        value: The value of a step that succeeded, or details of one that has only begun.
        error: The failure of a step that failed.
        usage: The resources used by the step; see `Usage`.
        request_id: The request's id in the execution that recorded the step.
        started: Whether the step has only begun: the record of a long wait, for example.
        dropped: Failures that the script of a child turned into null.
    """

    name: str
    signature: str = ""
    kind: str = ""
    ok: bool = True
    value: Any = None
    error: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] = attrs.field(factory=dict)
    request_id: str | None = None
    started: bool = False
    dropped: int = 0


@attrs.frozen(kw_only=True)
class Entry:
    """Steps of one scope that ended together, or one that has begun.

    Attributes:
        scope: The scope of the run, such as `root`.
        now: The time that the script sees from then on, in seconds since 1970.
        settled: The steps, in the order in which the script learns of them.
        budget: The budget that the script sees from then on; empty if it has not changed.
    """

    scope: str
    now: float
    settled: tuple[StepRecord, ...] = ()
    budget: Mapping[str, Any] = attrs.field(factory=dict)


#: Fields of a stored step: its short name, and the types of its values.
_STEP: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "name": ("name", (str,)),
    "signature": ("sig", (str,)),
    "kind": ("kind", (str,)),
    "ok": ("ok", (bool,)),
    "value": ("value", (object,)),
    "error": ("error", (dict, _NONE)),
    "usage": ("usage", (dict,)),
    "request_id": ("request", (str, _NONE)),
    "started": ("started", (bool,)),
    "dropped": ("dropped", (int,)),
}
#: Fields that a stored step may lack: with their short names, and their usual values.
_USUAL: Final = tuple(
    (field, short, getattr(StepRecord(name=""), field))
    for field, (short, _) in _STEP.items()
    if field != "name"
)


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """Return an entry as plain JSON; fields with their usual values are left out."""
    data: dict[str, Any] = {"form": _FORM, "scope": entry.scope, "now": entry.now}
    data["settled"] = [_step_to_json(step) for step in entry.settled]
    if entry.budget:
        data["budget"] = dict(entry.budget)
    return data


def _step_to_json(step: StepRecord) -> dict[str, Any]:
    data: dict[str, Any] = {"name": step.name}
    for field, short, usual in _USUAL:
        value = getattr(step, field)
        if value != usual:
            data[short] = value
    return data


def entry_from_json(data: Any) -> Entry:
    """Return the entry that `entry_to_json` wrote.

    Raises:
        WorkflowError: The data are damaged, or of a newer release.
    """
    fields = _object(data, "an entry")
    form = fields.get("form")
    if type(form) is not int or form != _FORM:
        which = f"form {form}" if type(form) is int and abs(form) < 10**9 else "an unknown form"
        raise WorkflowError(f"a record of {which} cannot be read; this release knows {_FORM}")
    now, scope = fields.get("now"), fields.get("scope")
    settled, budget = fields.get("settled"), fields.get("budget", {})
    if not isinstance(now, int | float) or isinstance(now, bool) or not abs(now) <= _LATEST:
        raise _damaged("the time of an entry")
    if not isinstance(scope, str) or not isinstance(settled, list) or fields.keys() - _ENTRY:
        raise _damaged("an entry")
    steps = tuple(_step_from_json(step) for step in settled)
    return Entry(scope=scope, now=float(now), settled=steps, budget=_object(budget, "a budget"))


def _step_from_json(data: Any) -> StepRecord:
    fields = _object(data, "a step")
    values = {}
    for field, (short, kinds) in _STEP.items():
        if short in fields:
            values[field] = fields[short]
            if kinds != (object,) and type(fields[short]) not in kinds:
                raise _damaged(f"{short} of a step")
    if "name" not in values or len(values) != len(fields):
        raise _damaged("a step")
    return StepRecord(**values)


def _object(data: Any, what: str) -> dict[str, Any]:
    if type(data) is not dict or not all(isinstance(key, str) for key in data):
        raise _damaged(what)
    return data


def _damaged(what: str) -> WorkflowError:
    return WorkflowError(f"the record of the run is damaged: {what} is malformed")
