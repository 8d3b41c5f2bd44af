"""The messages of the guest as values of the boundary, and answers to them.

The guest's own code writes the messages, out of reach of scripts; their JSON texts are a script's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from interpstack import EngineFailure, GuestError, Settlement, UnsupportedValue, encode
from interpstack_commands import ExecSpec
from interpstack_workflows.runtime.boundary import (
    AgentRequest,
    AskRequest,
    Call,
    CheckpointRequest,
    ExecRequest,
    FailedResolution,
    LogCall,
    ModuleBudget,
    PhaseCall,
    Request,
    Resolution,
    ScriptPath,
    SleepRequest,
    UndefinedResolution,
    ValueResolution,
    ValueWithBudget,
    WaitRequest,
    WorkflowRequest,
)
from interpstack_workflows.runtime.texts import parsed

__all__ = ["KINDS", "budget_pair", "read_calls", "read_request", "settlement"]

#: The requests of scripts; each is a bridge `workflow.<kind>`.
KINDS: Final = ("agent", "ask", "checkpoint", "exec", "sleep", "wait", "workflow")
_to_json = json.JSONEncoder(separators=(",", ":")).encode


def read_request(bridge: str, wire: Any) -> Request:
    """Return a request of the guest.

    Args:
        bridge: The name of its bridge.
        wire: Its id, then the arguments of its verb.

    Raises:
        ValueError: A JSON text of the script cannot be read.
        EngineFailure: The guest's memory is damaged.
    """
    kind = bridge.partition(".")[2]
    try:
        request: Request = _READERS[kind](*wire)
    except (KeyError, TypeError) as error:
        raise EngineFailure(f"the guest's memory is damaged: a request {kind!r:.40}") from error
    return request


def _options(text: Any) -> Mapping[str, Any] | None:
    if text is None:
        return None
    options = parsed(text)
    if not isinstance(options, dict):
        raise ValueError("the options of a request are not an object")  # noqa: TRY004 - a wrong text
    return options


def _workflow(number: str, name: Any, path: Any, args: Any) -> WorkflowRequest:
    return WorkflowRequest(number, name if path is None else ScriptPath(path), parsed(args))


def _exec(number: str, profile: Any, text: Any) -> ExecRequest:
    spec = parsed(text)
    spec["args"] = tuple(spec["args"])
    return ExecRequest(number, profile, ExecSpec(**spec))


_READERS: Final[Mapping[str, Any]] = {
    "agent": lambda number, prompt, text: AgentRequest(number, prompt, _options(text)),
    "ask": lambda number, question, text: AskRequest(number, question, _options(text)),
    "checkpoint": lambda number, label, text: CheckpointRequest(number, label, parsed(text)),
    "exec": _exec,
    "sleep": lambda number, ms: SleepRequest(number, int(ms)),
    "wait": lambda number, signal, text: WaitRequest(number, signal, _options(text)),
    "workflow": _workflow,
}


def read_calls(wire: Any) -> Iterator[Call]:
    """Yield the calls in one message of the guest.

    Raises:
        ValueError: A JSON text of the script cannot be read.
        EngineFailure: The guest's memory is damaged.
    """
    try:
        for kind, *parts in wire:
            if kind == "log":
                yield LogCall(tuple(_logged(text) for text in parts[0]))
            else:
                yield PhaseCall(parts[0], _options(parts[1]))
    except (TypeError, IndexError) as error:
        raise EngineFailure("the guest's memory is damaged: a call") from error


def _logged(text: str) -> Any:
    """Return a value of `log`; one that Python cannot read is shown as its JSON text."""
    try:
        return parsed(text)
    except ValueError:
        return text


def budget_pair(budget: ModuleBudget | None) -> list[int | None] | None:
    """Return a budget as the guest reads it."""
    return None if budget is None else [budget.total, budget.spent]


def settlement(
    number: int, resolution: Resolution, budget: ModuleBudget | None, most: int
) -> Settlement:
    """Return the settlement of a request.

    Args:
        number: The engine's id of the request.
        resolution: The resolution; a value that has no form in the guest becomes an error.
        budget: The budget from then on; `None` if it has not changed.
        most: Bytes that a value may have.
    """
    if isinstance(resolution, FailedResolution):
        # Read and removed by the guest's own code before a script sees the error.
        marks = {"$workflow": [resolution.escapes, budget_pair(budget)]}
        data = {**resolution.data, **marks}
        return Settlement(number, error=GuestError(resolution.name, resolution.message, data=data))
    match resolution:
        case UndefinedResolution():
            value = None
        case ValueResolution(value) | ValueWithBudget(value, _):
            pass
    try:
        wire = [
            encode(value, most),
            budget_pair(budget),
            isinstance(resolution, UndefinedResolution),
        ]
        return Settlement(number, _to_json(wire))
    except UnsupportedValue as error:
        return Settlement(number, error=GuestError("ToolError", str(error)))
