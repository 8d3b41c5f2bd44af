"""What a model may start, within the limits of the host."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_langchain.workflows.by_models.admission import Wanted, WorkflowAdmission
from interpstack_langchain.workflows.by_models.conversations import WorkflowConversation
from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_workflows.api import UnknownWorkflow, WorkflowError


def admission(**options: Any) -> WorkflowAdmission:
    return WorkflowAdmission(WorkflowOptions(**options))


def test_a_budget_is_the_hosts_or_a_smaller_one() -> None:
    host = admission(budget={"tokens": 100, "cost": 1.5})
    assert host.budget({}) == {"tokens": 100, "cost": 1.5}
    assert host.budget({"tokens": 5, "agents": 7}) == {"tokens": 5, "cost": 1.5, "agents": 7}
    with pytest.raises(WorkflowError, match=r"budget\.cost is 2, at most 1\.5 here"):
        host.budget({"cost": 2.0})


async def test_sources_are_never_paths_and_names_are_known_ones() -> None:
    async with runner(Prompts(), workflows={"known": script("return 1")}) as one:
        assert await admission().script(one, Wanted(source="a.js")) == "a.js\n"
        assert await admission().script(one, Wanted(name="known")) == "known"
        for name in ("a.js", "export default 1\n", "../known", ""):
            with pytest.raises(UnknownWorkflow, match="Known workflows: known"):
                await admission().script(one, Wanted(name=name))
        for wanted, says in (
            (Wanted(), "either source or name"),
            (Wanted(source="x", name="known"), "either source or name"),
            (Wanted(source="xx"), "the source has 2 characters, at most 1"),
            (Wanted(name="known", args="x"), "args have 3 characters, at most 1"),
        ):
            with pytest.raises(WorkflowError, match=says):
                await admission(max_source_chars=1).script(one, wanted)
        with pytest.raises(WorkflowError, match="only known workflows"):
            await admission(writes=False).script(one, Wanted(source="x"))


async def test_waiting_runs_of_the_conversation_take_room() -> None:
    mine, other = WorkflowConversation("run_a_"), WorkflowConversation("run_b_")
    async with runner(Prompts(), linger_seconds=0) as one:
        for run_id in ("run_a_1", "run_a_2", "run_b_1"):
            await one.run(script("return ctx.extra.ask('?')"), run_id=run_id)
        await admission(max_running=3).check_room(one, mine)
        await admission(max_running=2).check_room(one, other)
        with pytest.raises(WorkflowError, match=r"2 active runs.*: run_a_2 \(waiting\), run_a_1"):
            await admission(max_running=2).check_room(one, mine)
