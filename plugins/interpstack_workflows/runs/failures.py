"""Failures of steps and scopes, as data that is recorded and given to scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interpstack_accounts.api import BudgetExceeded
from interpstack_workflows.errors import WorkflowModuleError
from interpstack_workflows.runtime.boundary import FailedResolution, ModuleBudget

__all__ = ["ESCAPING", "ScopeFailed", "StepFailed", "as_failed", "described"]

#: Errors that end a run unless its script catches them: `parallel` and `pipeline` pass them on.
ESCAPING: Final = frozenset(
    {
        "BudgetExceeded",
        "ExecInterrupted",
        "Stalled",
        "UnknownAgent",
        "ArgumentsError",
        "UnknownWorkflow",
        "WorkflowCancelled",
        "WorkflowCycle",
        "WorkflowDepth",
        "WorkflowTimeout",
    }
)
#: The beginning of the message of a script that threw.
_REJECTED: Final = "workflow module rejected: "
#: Verbs that scripts import, and the messages of scripts that do not.
_UNDEFINED: Final = {
    f"{verb} is not defined": f'; import it: import {{ {verb} }} from "{module}"'
    for verb, module in (("sleep", "workflow:extra"), ("exec", "workflow:sandbox"))
}
#: Characters of a message that are recorded.
_MESSAGE_CHARS: Final = 10_000


class StepFailed(Exception):
    """A step failed in a way that its script should know by name.

    Attributes:
        name: The name of the error in the script.
        data: Further properties of that error, as JSON.
    """

    def __init__(self, message: str, name: str = "Error", data: Mapping[str, Any] = {}) -> None:
        super().__init__(message)
        self.name = name
        self.data = dict(data)


class ScopeFailed(Exception):
    """The script of a scope failed, stalled or was ended.

    Attributes:
        name: The name of the error.
        stack: The script's stack trace; may be empty.
        data: Further properties of the error for the script that called this one, as JSON.
    """

    def __init__(
        self, message: str, name: str = "Error", stack: str = "", data: Mapping[str, Any] = {}
    ) -> None:
        super().__init__(message)
        self.name = name
        self.stack = stack
        self.data = dict(data)

    @classmethod
    def of_module(cls, error: WorkflowModuleError) -> ScopeFailed:
        """Return the failure that a module ended with."""
        name = error.name or "Error"
        message = str(error).removesuffix(error.stack).rstrip("\n")
        if message.startswith(_REJECTED):  # the name and the stack have fields of their own
            message = message.removeprefix(_REJECTED).removeprefix(f"{name}: ")
            message += _UNDEFINED.get(message, "")
        return cls(message, name, error.stack, error.data)

    def to_json(self) -> dict[str, Any]:
        """Return the error as results and records show it."""
        shown = {"name": self.name, "message": str(self)}
        return {**shown, "stack": self.stack} if self.stack else shown


def described(error: BaseException) -> dict[str, Any]:
    """Return an exception of a step as its record shows it: `name`, `message`, `data`."""
    name = getattr(error, "name", None)
    if not isinstance(error, (StepFailed, ScopeFailed)) or not isinstance(name, str):
        name = type(error).__name__
    message = str(error) or type(error).__name__
    data = getattr(error, "data", None)
    if isinstance(error, BudgetExceeded):
        amounts = {one: getattr(error, one) for one in ("kind", "limit", "spent", "reserved")}
        data = {"budget": error.account, **amounts}
    shown: dict[str, Any] = {"name": name, "message": message[:_MESSAGE_CHARS]}
    return {**shown, "data": data} if isinstance(data, dict) and data else shown


def as_failed(error: Mapping[str, Any], budget: ModuleBudget | None = None) -> FailedResolution:
    """Return a recorded error as the module receives it.

    Args:
        error: The error, as `described` makes it.
        budget: The budget from then on.
    """
    name, data = str(error.get("name", "Error")), dict(error.get("data") or {})
    # A request of a wrong form is a mistake in the script, and a budget that is used up is the
    # run's; an agent's own `TypeError` or `BudgetExceeded` is a failure like others.
    escapes = data.get("kind") != "agent" and (name == "TypeError" or name in ESCAPING)
    return FailedResolution(
        str(error.get("message", "workflow request rejected")),
        name,
        data,
        escapes=escapes,
        budget=budget,
    )
