"""Workflows: modules that orchestrate agents, and continue after a crash, a pause or a restart."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from interpstack import hookimpl

if TYPE_CHECKING:
    from interpstack_workflows.agents.agent import Agent


@hookimpl
def interpstack_add_hookspecs() -> ModuleType:
    from interpstack_workflows import hookspecs

    return hookspecs


@hookimpl(trylast=True)
def interpstack_workflow_agent(target: Any) -> Agent | None:
    from interpstack_workflows.agents.functions import agent_of

    return agent_of(target)
