"""Runs of workflows as trees, from databases and from the checkpointers of agents."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from inspected import HOSTILE, HOSTILE_SEEN, Server, looked_at
from inspected_agents import agent, config, source, turn
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from workflow_runs import Prompts, runner, script

from interpstack_inspect.api import NotRecorded
from interpstack_langchain.inspecting.agents import AgentSource
from interpstack_langchain.inspecting.conversations import ReadingOptions
from interpstack_langchain.inspecting.workflow_runs import read_run, read_runs
from interpstack_langchain.workflows.checkpoint_store import CheckpointWorkflowStore

BODY = (
    "phase('Read'); const read = await agent('read ' + args.what); "
    "phase('Write'); try { await agent('fail', {label: 'the writer'}) } catch {} return read"
)


async def _ran(saver: Any, **args: Any) -> str:
    """The id of a run in a checkpointer."""
    async with runner(Prompts(), CheckpointWorkflowStore(saver)) as running:
        result = await running.run(script(BODY, "orders"), args)
        return str(result.run_id)


@pytest.fixture
async def place(tmp_path: Path) -> tuple[str, str]:
    """A database, and the id of the run in it."""
    place = str(tmp_path / "w.db")
    with SqliteSaver.from_conn_string(place) as saver:
        return place, await _ran(saver, what=HOSTILE)


async def test_a_run_is_a_tree_of_phases_and_steps(place: tuple[str, str]) -> None:
    url, run_id = place
    there = source(url)
    (run,) = await there.workflows()
    assert (run.id, run.name, run.status) == (run_id, "orders", "completed")
    run, tree = await there.workflow(run_id)
    steps = [*tree.root.steps.values()]
    assert [(step.status, step.phase) for step in steps] == [("ok", "Read"), ("failed", "Write")]
    assert await there.conversations() == []
    with pytest.raises(NotRecorded, match="there is no run 'gone'"):
        await there.workflow("gone")


async def test_the_pages_of_a_run(place: tuple[str, str]) -> None:
    url, _ = place
    async with Server.of(source(url)).browser() as client:
        listed = await looked_at(client, "/workflows")
        (link,) = [link for link in listed.links if link.startswith("/workflow?")]
        page = await looked_at(client, link)
        assert HOSTILE_SEEN in page.text
        assert page.of("img") == []
        for text in ("state completed", "agents 2", "failed agent: the writer"):
            assert text in page.words, text
        assert "ValueError: cannot fail" in page.words
        assert (await client.get("/workflow?run=gone")).status_code == 404
        assert (await client.get("/workflow")).status_code == 400


async def test_runs_in_the_checkpointer_of_an_agent() -> None:
    saver = InMemorySaver()
    made = agent(saver)
    await made.ainvoke(turn("1"), config())
    run_id = await _ran(saver, what="x")
    there = AgentSource("tests:agent", made, ReadingOptions())
    await there.open()
    assert [run.id for run in await there.workflows()] == [run_id]
    run, _ = await there.workflow(run_id)
    assert run.status == "completed"
    assert [row.name for row in await there.conversations()] == ["t"]
    assert [run.id for run in await read_runs(saver, 1)] == [run_id]
    assert (await read_run(saver, run_id))[0] == run
    await asyncio.wait_for(there.aclose(), 10)


async def test_a_place_without_workflows_says_so(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        saver.setup()
    async with Server.of(source(str(tmp_path / "a.db"))).browser() as client:
        assert (
            "No run of a workflow is recorded here."
            in (await looked_at(client, "/workflows")).words
        )
