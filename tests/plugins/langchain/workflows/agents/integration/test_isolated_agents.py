"""Agents of deepagents in worktrees of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_graphs import Acting
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from git_repositories import left_of, repository
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import RunnableConfig
from workflow_runs import runner, script

from interpstack_langchain.workflows import LangChainAgent
from interpstack_workflows.api import AgentCall, open_store

__all__ = ["repository"]

_BODY = "return agent('go', {isolation: 'worktree'})"


async def test_files_of_a_deep_agent_are_in_its_worktree(repository: Path) -> None:
    turns = [[("write_file", {"file_path": "/new.txt", "content": "new\n"})]]
    model = Acting(turns=turns, text="done")

    def coder(call: AgentCall) -> Any:
        return create_deep_agent(
            model, backend=FilesystemBackend(root_dir=call.cwd, virtual_mode=True)
        )

    async with runner(LangChainAgent(coder), worktrees=repository) as one:
        result = await one.run(script(_BODY))
    assert result.result["value"] == "done"
    assert result.result["files"] == ["new.txt"]
    assert "+new\n" in result.result["patch"]
    assert left_of(repository) == []


async def test_an_isolated_agent_goes_on_with_its_files_after_an_approval(
    repository: Path, tmp_path: Path
) -> None:
    written: list[str] = []

    def write(name: str, config: RunnableConfig) -> str:
        """Write a file."""
        written.append(name)
        Path(config["configurable"]["folder"], name).write_text(f"{name}\n")
        return "written"

    def ship() -> str:
        """Ship."""
        return "shipped"

    turns = [[("write", {"name": "a"})], [("ship", {})], [("write", {"name": "b"})]]
    graph = create_agent(
        Acting(turns=turns),  # type: ignore[arg-type]
        [write, ship],
        middleware=[HumanInTheLoopMiddleware({"ship": True})],
    )
    agent = LangChainAgent(graph, configurable={"cwd": "folder"})
    store = open_store(str(tmp_path / "runs.db"))
    async with runner(agent, store, worktrees=repository, linger_seconds=0) as one:  # type: ignore[arg-type]
        waiting = await one.run(script(_BODY))
    assert written == ["a"]
    assert left_of(repository) == []
    async with runner(agent, store, worktrees=repository) as other:  # type: ignore[arg-type]
        (wait,) = waiting.waiting_for
        decisions = {wait["approvals"][0]["id"]: "approve"}
        await other.answer(waiting.run_id, wait["id"], decisions)
        result = await (await other.resume(waiting.run_id)).rest()
    await store.aclose()
    assert written == ["a", "b"], "no call is repeated, and no file is lost"
    assert result.result["files"] == ["a", "b"]
    assert left_of(repository) == []


async def test_a_graph_that_takes_no_folder_is_not_isolated(repository: Path) -> None:
    async with runner(create_agent(Acting(), []), worktrees=repository) as one:
        result = await one.run(script(_BODY))
    assert result.error is not None
    assert "does not say that it works in the folder of a call" in result.error["message"]
