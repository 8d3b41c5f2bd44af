"""The parts that all runs of one runner share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from interpstack_workflows.agents.agent import Agent
from interpstack_workflows.agents.selectors import Models
from interpstack_workflows.events.events import WorkflowEvent
from interpstack_workflows.runs.catalog import Catalog
from interpstack_workflows.runtime.runtime import WorkflowRuntime
from interpstack_workflows.sandbox.sandbox import OUTPUT_BYTES, Sandbox
from interpstack_workflows.scheduling.scheduler import Scheduler
from interpstack_workflows.stores.store import WorkflowStore

__all__ = ["RunParts"]


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
        emit: Takes the events of runs.
        clock: Seconds since 1970.
        max_depth: How many workflows may call each other in a row, the root counted.
        linger_seconds: How long the realm of a run that only waits is kept.
        models: The names that the host gives to models.
        output_bytes: Bytes of each stream of a command that scripts get.
    """

    store: WorkflowStore
    runtime: WorkflowRuntime
    agents: Mapping[str, Agent]
    catalog: Catalog
    sandboxes: Mapping[str, Sandbox]
    scheduler: Scheduler
    emit: Callable[[WorkflowEvent], None]
    clock: Callable[[], float]
    max_depth: int
    linger_seconds: float
    models: Models = attrs.field(factory=Models)
    output_bytes: int = OUTPUT_BYTES
