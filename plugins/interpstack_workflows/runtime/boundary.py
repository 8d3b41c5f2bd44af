"""Values of the boundary between a workflow module and the host that drives it.

A `WorkflowExecution` gives calls, which want no answer, and requests, which the script awaits. The
host answers a request with a resolution. Everything that a script passes is JSON, and untrusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import attrs

from interpstack import ConfigurationError
from interpstack.checks import positive, takes
from interpstack_commands import ExecSpec
from interpstack_workflows.errors import WorkflowModuleError
from interpstack_workflows.runtime.texts import shown

__all__ = [
    "AgentRequest",
    "AskRequest",
    "Call",
    "CheckpointRequest",
    "Complete",
    "ExecRequest",
    "FailedResolution",
    "LogCall",
    "ModuleBudget",
    "ModuleProgress",
    "Pending",
    "PhaseCall",
    "Request",
    "Resolution",
    "ScriptPath",
    "SleepRequest",
    "UndefinedResolution",
    "ValueResolution",
    "ValueWithBudget",
    "WaitRequest",
    "WorkflowModuleInput",
    "WorkflowModuleOutput",
    "WorkflowRequest",
]

_MIB: Final = 2**20
_takes = partial(takes, of=lambda item: type(item).__name__, error=ConfigurationError)
_text = _takes("a string", str)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


@attrs.frozen
class ModuleBudget:
    """The budget that a script sees.

    Attributes:
        total: The limit, in tokens; `None` for none.
        spent: The tokens that have been spent.
    """

    total: int | None = attrs.field(
        default=None,
        validator=_takes(
            "a whole number, 0 or more, or None", fits=lambda v: v is None or _is_count(v)
        ),
    )
    spent: int = attrs.field(
        default=0, validator=_takes("a whole number, 0 or more", fits=_is_count)
    )


def _is_sources(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(text, str) for name, text in value.items()
    )


@attrs.frozen(kw_only=True)
class WorkflowModuleInput:
    """A workflow module, and the values with which it is started.

    Attributes:
        source: The text of the module; TypeScript if `source_name` says so.
        source_name: The name of the module in stack traces, such as `research.workflow.ts`.
        args: The arguments, which are JSON.
        budget: The budget at the start.
        seed: Seed of `Math.random`; `None` draws one.
        modules: Sources of the modules that the script may import beside `workflow:extra` and
            `workflow:sandbox`, by specifier; a specifier has a scheme, as in `team:prompts`.
        memory_bytes: Bytes of guest memory.
        poll_seconds: Seconds that the guest may compute at each poll.
        requests: Requests that the script may make in all.
    """

    source: str = attrs.field(validator=_text, repr=lambda text: f"<{len(text)} characters>")
    source_name: str = attrs.field(
        default="workflow.js",
        validator=_takes(
            "a file name that ends in .js, .mjs, .ts or .mts",
            fits=lambda v: (
                isinstance(v, str) and v.endswith((".js", ".mjs", ".ts", ".mts")) and ":" not in v
            ),
        ),
    )
    args: Any = None
    budget: ModuleBudget = attrs.field(
        factory=ModuleBudget, validator=_takes("a ModuleBudget", ModuleBudget)
    )
    seed: int | None = attrs.field(
        default=None, validator=_takes("an integer or None", int, type(None))
    )
    modules: Mapping[str, str] = attrs.field(
        factory=dict, validator=_takes("sources by specifier", fits=_is_sources)
    )
    memory_bytes: int | None = attrs.field(default=128 * _MIB, validator=positive(int, 4 * _MIB))
    poll_seconds: float | None = attrs.field(default=5.0, validator=positive(float))
    requests: int = attrs.field(default=100_000, validator=positive(int, optional=False))

    @modules.validator
    def _check_names(self, attribute: attrs.Attribute[Any], value: Mapping[str, str]) -> None:
        for name in value:
            if ":" not in name or name.startswith("workflow:"):
                raise ConfigurationError(
                    f"WorkflowModuleInput: modules takes specifiers with a scheme of their own, as "
                    f"in 'team:prompts'; got {name!r:.100}"
                )


@attrs.frozen
class WorkflowModuleOutput:
    """The result of a workflow module, which is JSON.

    Attributes:
        result: The value of the default export, or of its call.
        dropped: Failures that `parallel` and `pipeline` turned into null.
    """

    result: Any
    dropped: int = 0


@attrs.frozen
class LogCall:
    """`log(…values)`.

    Attributes:
        values: The values, which are JSON.
    """

    values: tuple[Any, ...]

    @property
    def text(self) -> str:
        """The line to show: strings as they are, other values as JSON, joined by spaces."""
        return " ".join(shown(value) for value in self.values)


@attrs.frozen
class PhaseCall:
    """`phase(name, options?)`."""

    name: str
    options: Mapping[str, Any] | None = None


@attrs.frozen
class AgentRequest:
    """`agent(prompt, options?)`: the script awaits an agent's answer."""

    id: str
    prompt: str
    options: Mapping[str, Any] | None = None


@attrs.frozen
class ScriptPath:
    """A reference to a workflow by the path of its file, relative to the calling script."""

    path: str


@attrs.frozen
class WorkflowRequest:
    """`workflow(ref, args?)`: the script awaits another workflow's result."""

    id: str
    ref: str | ScriptPath
    args: Any = None


@attrs.frozen
class SleepRequest:
    """`sleep(ms)`: the script awaits some milliseconds."""

    id: str
    duration_ms: int


@attrs.frozen
class ExecRequest:
    """`exec(profile, request)` of `workflow:sandbox`: the script awaits a command's output."""

    id: str
    profile: str
    request: ExecSpec


@attrs.frozen
class AskRequest:
    """`ask(question, options?)`: the script awaits a person's answer."""

    id: str
    question: str
    options: Mapping[str, Any] | None = None


@attrs.frozen
class WaitRequest:
    """`wait(signal, options?)`: the script awaits an event from outside."""

    id: str
    signal: str
    options: Mapping[str, Any] | None = None


@attrs.frozen
class CheckpointRequest:
    """`checkpoint(label, value?)`: the script waits until everything so far is stored."""

    id: str
    label: str
    value: Any = None


@attrs.frozen
class ValueResolution:
    """The resolution of a request by a value, which is JSON."""

    value: Any = None


@attrs.frozen
class UndefinedResolution:
    """The resolution of a request by `undefined`."""


@attrs.frozen
class ValueWithBudget:
    """The resolution of a request by a value, together with the budget from then on."""

    value: Any
    budget: ModuleBudget


@attrs.frozen
class FailedResolution:
    """The rejection of a request by an `Error`.

    Attributes:
        message: The error's message.
        name: The error's name.
        data: Further properties of the error; plain JSON values.
        escapes: Whether `parallel` and `pipeline` pass the error on instead of dropping it.
        budget: The budget from then on; `None` if it has not changed.
    """

    message: str = "workflow request rejected"
    name: str = "Error"
    data: Mapping[str, Any] = attrs.field(factory=dict)
    escapes: bool = False
    budget: ModuleBudget | None = None


@attrs.frozen
class Complete:
    """The module has ended with a result."""

    output: WorkflowModuleOutput


@attrs.frozen
class Pending:
    """The module waits.

    Attributes:
        awaiting: Ids of the open requests; empty if the script waits for a promise that nothing can
            settle.
    """

    awaiting: tuple[str, ...] = ()


Call: TypeAlias = LogCall | PhaseCall
Request: TypeAlias = (
    AgentRequest
    | WorkflowRequest
    | SleepRequest
    | ExecRequest
    | AskRequest
    | WaitRequest
    | CheckpointRequest
)
Resolution: TypeAlias = ValueResolution | UndefinedResolution | ValueWithBudget | FailedResolution


@attrs.frozen(kw_only=True)
class ModuleProgress:
    """Everything that a module did until it had to wait, or ended.

    Attributes:
        calls: Calls, in order.
        requests: New requests, in order.
        complete: Set when the module has ended with a result.
        error: Set when it has failed, or took too long.
        awaiting: Ids of the open requests; see `Pending`.
        cpu_seconds: Guest time.
        rejected: Once the module has ended, the reasons of promises that were rejected and that no
            code handled.
    """

    calls: Sequence[Call] = ()
    requests: Sequence[Request] = ()
    complete: Complete | None = None
    error: WorkflowModuleError | None = None
    awaiting: tuple[str, ...] = ()
    cpu_seconds: float = 0.0
    rejected: Sequence[str] = ()
