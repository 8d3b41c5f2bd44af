"""Exceptions of workflows, raised to the host.

An error that the script of a workflow does not catch never raises one of these: it is the `error`
of the run's result. The tree, below `InterpstackError`:

```text
WorkflowError
├── MetadataError          a workflow file has no valid metadata; says where
├── ArgumentsError         the arguments are not those that a workflow takes
├── WorkflowModuleError    the module cannot be declared or evaluated, or its script failed
├── UnknownWorkflow        no workflow has this name
├── UnknownAgent           no agent has this name
├── UnknownRun             the store has no run of this id
├── LeaseLost              another runner works on the run
└── ScriptChanged          the script is not the one that the run began with
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpstack import InterpstackError

__all__ = [
    "ArgumentsError",
    "LeaseLost",
    "MetadataError",
    "ScriptChanged",
    "UnknownAgent",
    "UnknownRun",
    "UnknownWorkflow",
    "WorkflowError",
    "WorkflowModuleError",
]


class WorkflowError(InterpstackError):
    """Base class of the exceptions of workflows."""


class MetadataError(WorkflowError, ValueError):
    """A workflow file has no valid metadata.

    Attributes:
        line: Number of the line at fault, from 1; 0 if it is not known.
        column: Number of the character in its line, from 1; 0 if it is not known.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class ArgumentsError(WorkflowError, ValueError):
    """The arguments do not match the schema of the workflow; none of its code has run."""


class WorkflowModuleError(WorkflowError):
    """The module of a workflow cannot be declared or evaluated, or its script failed.

    Attributes:
        name: The name of the script's error, as in `TypeError`; empty if it is not the script's.
        stack: The script's stack trace, without host paths; may be empty.
        data: Further properties of the script's error, as JSON.
    """

    def __init__(
        self, message: str, *, name: str = "", stack: str = "", data: Mapping[str, Any] = {}
    ) -> None:
        super().__init__(message)
        self.name = name
        self.stack = stack
        self.data = dict(data)


class UnknownWorkflow(WorkflowError, LookupError):
    """No workflow has this name; the message lists the known ones."""


class UnknownAgent(WorkflowError, LookupError):
    """No agent has this name; the message lists the known ones."""


class UnknownRun(WorkflowError, LookupError):
    """The store has no run with this id."""


class LeaseLost(WorkflowError):
    """Another runner works on the run now; this one may record nothing more."""


class ScriptChanged(WorkflowError):
    """A changed script would leave recorded steps of the run unused."""
