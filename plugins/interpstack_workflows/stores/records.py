"""Runs and messages as they are stored: plain JSON, whose fields are checked when it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

from interpstack import ConfigurationError
from interpstack.checks import takes
from interpstack_workflows.budgets.budget import BudgetLimits
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.errors import WorkflowError

__all__ = [
    "RUN_ID_TAKES",
    "STATUSES",
    "Message",
    "MessageKind",
    "RunStatus",
    "WorkflowRecord",
    "damaged_run",
    "is_run_id",
    "run_from_json",
    "run_to_json",
]

RunStatus: TypeAlias = Literal["pending", "running", "waiting", "completed", "failed", "cancelled"]
MessageKind: TypeAlias = Literal["signal", "answer", "cancel", "wake"]
STATUSES: Final = get_args(RunStatus)
_KINDS: Final = get_args(MessageKind)
#: Describes the id of a run, for messages.
RUN_ID_TAKES: Final = "1 to 200 letters, digits, '-', '_' and '.'"
_takes = partial(takes, of=lambda item: type(item).__name__, error=ConfigurationError)


def is_run_id(value: object) -> bool:
    """Return whether a run may have this id."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= 200
        and value.isascii()
        and value.replace("-", "").replace("_", "").replace(".", "").isalnum()
    )


@attrs.frozen(kw_only=True)
class WorkflowRecord:
    """A run as it is stored beside its entries; all values are plain JSON.

    Attributes:
        id: The id of the run: at most 200 letters, digits, `-`, `_` and `.`.
        name: The name of the workflow.
        source: The script.
        source_name: The script's name in stack traces.
        args: The arguments of the run.
        metadata: The metadata of the script.
        seed: Seed of the script's random numbers.
        created: The time at which the run was made, in seconds since 1970.
        status: The state of the run.
        budget: The limits of the run.
        options: Further options of the run.
        result: The result of a completed run.
        error: The failure of a failed run.
        wake_at: The time at which a waiting run is to be woken, in seconds since 1970; `None` if
            only a message wakes it.
        waiting_for: The steps that a waiting run waits for.
        usage: The resources used so far.
        census: The counts of steps that succeeded and failed.
        updated: The time of the last change of the record, in seconds since 1970.
        version: Number of changes of the record.
    """

    id: str = attrs.field(validator=_takes(f"{RUN_ID_TAKES} as an id", fits=is_run_id))
    name: str = ""
    source: str = attrs.field(default="", repr=False)
    source_name: str = "workflow.js"
    args: Any = None
    metadata: Mapping[str, Any] = attrs.field(factory=dict)
    seed: int = 0
    created: float = 0.0
    status: RunStatus = attrs.field(
        default="pending",
        validator=_takes(f"a status of {', '.join(STATUSES)}", fits=STATUSES.__contains__),
    )
    budget: Mapping[str, Any] = attrs.field(factory=dict)
    options: Mapping[str, Any] = attrs.field(factory=dict)
    result: Any = None
    error: Mapping[str, Any] | None = None
    wake_at: float | None = None
    waiting_for: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=tuple)
    usage: Mapping[str, Any] = attrs.field(factory=dict)
    census: Mapping[str, Any] = attrs.field(factory=dict)
    updated: float = 0.0
    version: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen in this run by itself."""
        return self.status in ("completed", "failed", "cancelled")


@attrs.frozen(kw_only=True)
class Message:
    """A message to a run from outside.

    Attributes:
        kind: `signal` for the script, `answer` to a question, `cancel`, or `wake`.
        name: The name of the signal.
        value: The value that comes with it; plain JSON.
        id: The id of the question that is answered.
    """

    kind: MessageKind = attrs.field(
        validator=_takes(f"a kind of {', '.join(_KINDS)}", fits=_KINDS.__contains__)
    )
    name: str = ""
    value: Any = None
    id: str = ""


_NAMES: Final = tuple(field.name for field in attrs.fields(WorkflowRecord))
#: No time of a run is further from 1970, in seconds: the end of the year 9999.
_LATEST: Final = 253_402_300_799


def run_to_json(run: WorkflowRecord) -> dict[str, Any]:
    """Return a run as plain JSON."""
    return {name: getattr(run, name) for name in _NAMES}


def run_from_json(data: Any, run_id: str) -> WorkflowRecord:
    """Return the run that `run_to_json` wrote.

    Args:
        data: The stored form; fields that it lacks have their usual values.
        run_id: The id of the run to which the store says that the data belong.

    Raises:
        WorkflowError: The data are damaged, of another run, or of a newer release.
    """
    if type(data) is not dict:
        raise damaged_run(run_id, "it is not an object")
    if unknown := sorted(str(name)[:40] for name in data.keys() - _FITS.keys()):
        raise WorkflowError(
            f"the record of the run {run_id!r:.80} cannot be read: it has a field "
            f"{unknown[0]!r}, which this release does not know; use the release that wrote it"
        )
    for name, fits in _FITS.items():
        if name in data and not fits(data[name]):
            raise damaged_run(run_id, f"its {name} is malformed")
    if data.get("id") != run_id:
        raise damaged_run(run_id, f"it is that of the run {str(data.get('id'))!r:.80}")
    return WorkflowRecord(**data)


def damaged_run(run_id: str, why: str) -> WorkflowError:
    """Make the error about a record that cannot be used."""
    return WorkflowError(
        f"the record of the run {run_id!r:.80} is damaged: {why}; restore the store from a copy, "
        "or delete the run"
    )


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_object(value: Any) -> bool:
    return type(value) is dict


def _is_metadata(value: Any) -> bool:
    return _is_object(value) and isinstance(value.get("phases") or [], list | tuple)


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LATEST


def _is_limits(value: Any) -> bool:
    return _is_object(value) and _made(lambda: BudgetLimits(**value))


def _is_budget(value: Any) -> bool:
    if not _is_object(value):
        return False
    inner = value.get("inner", {})
    own = {name: limit for name, limit in value.items() if name != "inner"}
    return _is_limits(own) and _is_object(inner) and all(map(_is_limits, inner.values()))


def _is_usage(value: Any) -> bool:
    return _made(lambda: WorkflowUsage.from_json(value))


def _is_error(value: Any) -> bool:
    return _is_object(value) and all(_is_text(value.get(name, "")) for name in ("name", "message"))


def _is_wait(value: Any) -> bool:
    return (
        _is_object(value)
        and _is_text(value.get("kind"))
        and _is_text(value.get("id", ""))
        and (value.get("options") is None or _is_object(value["options"]))
        and (value.get("wake_at") is None or _is_time(value["wake_at"]))
    )


def _is_waits(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_wait, value))


def _is_census(value: Any) -> bool:
    if not _is_object(value) or not _is_whole(value.get("dropped", 0)):
        return False
    errors, unused = value.get("errors", []), value.get("unused_budgets", [])
    return (
        isinstance(errors, list | tuple)
        and all(_is_error(one) and _is_whole(one.get("count", 1)) for one in errors)
        and isinstance(unused, list | tuple)
        and all(map(_is_text, unused))
    )


def _is_options(value: Any) -> bool:
    if not _is_object(value):
        return False
    path, deadline = value.get("path"), value.get("deadline")
    read = value.get("messages_read", 0)
    return (
        (path is None or _is_text(path))
        and (deadline is None or type(deadline) in (int, float))
        and (_is_whole(read) and read >= 0)
    )


def _made(make: Callable[[], object]) -> bool:
    """Return whether a value can be made."""
    try:
        make()
    except (ConfigurationError, TypeError):
        return False
    return True


#: For each field of a run, whether it may have a value.
_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "id": is_run_id,
    "name": _is_text,
    "source": _is_text,
    "source_name": _is_text,
    "args": lambda value: True,
    "metadata": _is_metadata,
    "seed": _is_whole,
    "created": _is_time,
    "status": lambda value: _is_text(value) and value in STATUSES,
    "budget": _is_budget,
    "options": _is_options,
    "result": lambda value: True,
    "error": lambda value: value is None or _is_error(value),
    "wake_at": lambda value: value is None or _is_time(value),
    "waiting_for": _is_waits,
    "usage": _is_usage,
    "census": _is_census,
    "updated": _is_time,
    "version": _is_whole,
}
