"""Calls of agents pass the modules that the architecture page names, in its order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from walks import in_order, modules_of, waiting_modules, walks
from workflow_runs import runner, script

ROOT = Path(__file__).parents[5]


async def test_an_agent_is_reached_by_the_walk_of_a_workflow() -> None:
    seen: list[list[list[str]]] = []

    async def waiting() -> list[list[str]]:
        return waiting_modules()

    async def look(call: Any) -> str:
        seen.append(await asyncio.create_task(waiting()))  # while this one waits, too
        return "looked"

    async with runner(look) as one:
        result = await one.run(script("return agent('look')"))
    assert result.result == "looked"
    walk = modules_of(walks(ROOT)["The walk of a workflow"])
    (tasks,) = seen
    inside = "interpstack_workflows.agents"
    passed = [[name for name in task if not name.startswith(inside)] for task in tasks]
    assert any("interpstack_workflows.runs.verbs.agent_calls" in task for task in passed)
    assert any("interpstack_workflows.runs.scopes.scope" in task for task in passed)
    begins = "interpstack_workflows.runs.runner"
    astray = [task for task in passed if begins not in task and not in_order(task, walk)]
    assert astray == [], "the architecture page names the modules that wait, in order"
