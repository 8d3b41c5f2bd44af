"""Arguments of `WorkflowRunner` that `WorkflowMiddleware` hands on to a runner of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypedDict

from interpstack import ConfigurationError, Engine, InterpreterStack
from interpstack.checks import shown
from interpstack_commands import Sandbox
from interpstack_workflows.api import (
    Scheduler,
    WorkflowEvent,
    WorkflowRunner,
    WorkflowStore,
)
from interpstack_worktrees import GitWorktrees

__all__ = ["RunnerOptions", "check_ready", "check_runner_options", "runner_maker"]


class RunnerOptions(TypedDict, total=False):
    """The arguments of `WorkflowRunner`, which describes them."""

    engine: InterpreterStack | Engine | str
    agents: Mapping[str, Any] | None
    models: Mapping[str, str] | None
    prices: Mapping[str, Any] | None
    store: WorkflowStore | str
    workflows: Mapping[str, Path | str] | Iterable[Path | str]
    modules: Mapping[str, Path | str] | None
    sandboxes: Mapping[str, Sandbox] | None
    output_bytes: int
    worktrees: GitWorktrees | Path | str | None
    scheduler: Scheduler | None
    events: Callable[[WorkflowEvent], Any] | None
    max_depth: int
    lease_seconds: float
    linger_seconds: float
    live_runs: int
    clock: Callable[[], float]


_NAMES: Final = tuple(RunnerOptions.__annotations__)


def check_runner_options(given: Mapping[str, Any], others: Iterable[str]) -> None:
    """Refuse names that a runner does not take.

    Args:
        given: The arguments by name.
        others: Names that the middleware takes beside them, for the message.

    Raises:
        ConfigurationError: There are some.
    """
    if wrong := [name for name in given if name not in _NAMES]:
        raise ConfigurationError(
            f"WorkflowMiddleware takes no {', '.join(wrong)}; it takes runner, "
            f"{', '.join((*_NAMES, *others))}"
        )


def runner_maker(given: Mapping[str, Any]) -> Callable[[], WorkflowRunner]:
    """Return a function that makes a runner of these arguments."""
    return lambda: WorkflowRunner(**given)


def check_ready(runner: Any, given: Mapping[str, Any]) -> None:
    """Refuse arguments beside a ready runner, which has its own.

    Raises:
        ConfigurationError: There are such arguments, or the object is not a runner.
    """
    if not isinstance(runner, WorkflowRunner):
        raise ConfigurationError(
            f"WorkflowMiddleware takes a WorkflowRunner; got {shown(runner)}; agents are passed as"
            " agents={name: agent}"
        )
    if given:
        raise ConfigurationError(
            f"{', '.join(given)} cannot be passed together with a runner; pass them to the runner"
        )
