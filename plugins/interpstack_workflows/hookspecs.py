"""The hook that this plugin brings: how an object becomes an agent of a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from interpstack_workflows.agents.agent import Agent

hookspec = pluggy.HookspecMarker("interpstack")


@hookspec(firstresult=True)
def interpstack_workflow_agent(target: Any, name: str) -> Agent | None:
    """Return an agent for an object that a host names as one.

    Called once for each agent of a `WorkflowRunner`; the first plugin with an answer wins.

    Args:
        target: The object: a function, a graph, a runnable, or anything a plugin knows.
        name: The name under which workflows call it.

    Returns:
        The agent. `None` leaves the object to the next plugin; without any answer the runner
        refuses it.
    """
