"""The parts that all runs of one runner share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import ConfigurationError
from interpstack.checks import is_plain_function, shown
from interpstack_commands import OUTPUT_BYTES, Sandbox
from interpstack_workflows.agents.agent import Agent
from interpstack_workflows.agents.selectors import Models
from interpstack_workflows.budgets.prices import Prices
from interpstack_workflows.events.hub import EventHub
from interpstack_workflows.runs.catalog import WorkflowCatalog
from interpstack_workflows.runtime.runtime import WorkflowRuntime
from interpstack_workflows.scheduling.scheduler import Scheduler
from interpstack_workflows.stores.store import WorkflowStore
from interpstack_worktrees import GitWorktrees

__all__ = ["RunParts", "check_poll_seconds", "check_settings", "worktrees_of"]


#: Seconds in which a run is claimed and replays what it has recorded, on a busy machine, too.
_EARLY_SECONDS: Final = 1.0


def _number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


def _whole(value: Any, *, least: int) -> bool:
    return type(value) is int and value >= least


def _workflows(value: Any) -> bool:
    if isinstance(value, Mapping):
        named = value.items()
        return all(isinstance(k, str) and isinstance(v, (Path, str)) for k, v in named)
    return isinstance(value, (str, Path, Iterable))


#: What a runner takes, and the test of it.
_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "store": ("a WorkflowStore, or its URL", lambda v: isinstance(v, (str, WorkflowStore))),
    "workflows": ("files or sources by name, or folders of workflows", _workflows),
    "models": (
        "selectors by name, as in {'fast': 'provider/model'}, or None",
        lambda v: v is None or isinstance(v, Mapping),
    ),
    "sandboxes": (
        "async functions by profile, or None",
        lambda v: v is None or (isinstance(v, Mapping) and all(map(callable, v.values()))),
    ),
    "output_bytes": ("a whole number, 0 or more", partial(_whole, least=0)),
    "scheduler": ("a Scheduler, or None", lambda v: v is None or isinstance(v, Scheduler)),
    "events": (
        "a function that is not async, or None",
        lambda v: v is None or is_plain_function(v),
    ),
    "max_depth": ("a whole number, 1 or more", partial(_whole, least=1)),
    "lease_seconds": ("a number above 0", lambda v: _number(v) and v > 0),
    "linger_seconds": ("a number, 0 or more", _number),
    "live_runs": ("a whole number, 1 or more", partial(_whole, least=1)),
    "clock": ("a function that is not async", is_plain_function),
    "worktrees": (
        "the root of a git repository, or GitWorktrees",
        lambda v: v is None or isinstance(v, (Path, str, GitWorktrees)),
    ),
}


def check_settings(**given: Any) -> None:
    """Check the arguments of a runner, before it opens anything.

    Args:
        given: The arguments in the table, by name.

    Raises:
        ConfigurationError: An argument is malformed; the message names the accepted form.
    """
    for name, (accepted, fits) in _SETTINGS.items():
        if not fits(given[name]):
            raise ConfigurationError(
                f"WorkflowRunner: {name} takes {accepted}; got {shown(given[name])}"
            )


def check_poll_seconds(value: Any) -> None:
    """Check the pause between two polls of a store.

    Raises:
        ConfigurationError: It is not a number above 0.
    """
    if not (_number(value) and value > 0):
        raise ConfigurationError(f"poll_seconds takes a number above 0; got {shown(value)}")


def worktrees_of(given: GitWorktrees | Path | str | None) -> GitWorktrees | None:
    """Return the worktrees that a host gives, or of the repository that it names."""
    return GitWorktrees(given) if isinstance(given, (Path, str)) else given


@attrs.frozen(kw_only=True)
class RunParts:
    """The parts of a runner that its runs use.

    Attributes:
        store: Keeps runs and their entries.
        runtime: Opens modules.
        agents: All agents, by name.
        catalog: The workflows that scripts may call.
        sandboxes: What runs the commands of scripts, by profile.
        scheduler: Gives slots to agents, over all runs.
        hub: Hands the events of runs to those who want them.
        clock: Seconds since 1970.
        max_depth: How many workflows may call each other in a row, the root counted.
        linger_seconds: Seconds for which a run that only waits remains live.
        models: The names that the host gives to models.
        output_bytes: Bytes of each stream of a command that scripts get.
        modules: Sources of the modules that scripts may import beside those of workflows.
        prices: The prices of models.
        worktrees: Makes worktrees for isolated agents; `None` if the host has no repository.
    """

    store: WorkflowStore
    runtime: WorkflowRuntime
    agents: Mapping[str, Agent]
    catalog: WorkflowCatalog
    sandboxes: Mapping[str, Sandbox]
    scheduler: Scheduler
    hub: EventHub
    clock: Callable[[], float]
    max_depth: int
    linger_seconds: float
    modules: Mapping[str, str] = attrs.field(factory=dict)
    prices: Prices = attrs.field(factory=Prices)
    models: Models = attrs.field(factory=Models)
    output_bytes: int = OUTPUT_BYTES
    worktrees: GitWorktrees | None = None

    @property
    def early_seconds(self) -> float:
        """Seconds by which a run that is due alone is made live before its time.

        At most as long as a run that only waits remains live.
        """
        return min(_EARLY_SECONDS, self.linger_seconds)
