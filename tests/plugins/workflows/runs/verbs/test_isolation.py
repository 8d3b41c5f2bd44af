"""Isolated steps of runs, with real git."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from git_repositories import git, left_of, repository
from workflow_runs import MemoryRuns, runner, script, until

from interpstack import ConfigurationError
from interpstack_workflows.agents.agent import AgentCall, AgentPaused
from interpstack_workflows.runs.runner import WorkflowRunner
from interpstack_workflows.runs.verbs.isolation import IsolatedWork
from interpstack_worktrees import GitWorktrees, WorktreeError

__all__ = ["repository"]

_ISOLATED = "{isolation: 'worktree'}"


class _Writer:
    """An agent that writes its prompt into a file of its folder, and does what the prompt says."""

    def __init__(self) -> None:
        self.calls: list[AgentCall] = []
        self.begun = asyncio.Event()

    async def __call__(self, call: AgentCall) -> Any:
        self.calls.append(call)
        assert call.cwd is not None
        with (call.cwd / "notes.txt").open("a") as file:
            file.write(f"{call.prompt} {call.attempt}\n")
        self.begun.set()
        match call.prompt.split()[0]:
            case "hang":
                await asyncio.Event().wait()
            case "fail":
                raise ValueError("cannot")
            case "second" if call.attempt < 2:
                raise ConnectionError("down")
            case "ask" if call.decisions is None:
                raise AgentPaused([{"id": "x", "question": "go on?"}])
        return (call.cwd / "notes.txt").read_text()


async def test_the_work_is_a_part_of_the_value(repository: Path) -> None:
    agent = _Writer()
    body = f"return parallel(['a', 'b'].map(p => () => agent(p, {_ISOLATED})))"
    async with runner(agent, worktrees=repository) as one:
        result = await one.run(script(body))
    for prompt, found in zip("ab", result.result, strict=True):
        assert found["value"] == f"{prompt} 1\n"
        assert f"+{prompt} 1\n" in found["patch"]
        assert found["files"] == ["notes.txt"]
        assert found["base"] == git(repository, "rev-parse", "HEAD").strip()
    assert agent.calls[0].cwd != agent.calls[1].cwd
    assert left_of(repository) == []
    assert all(call.cwd is not None and not call.cwd.exists() for call in agent.calls)
    assert git(repository, "status", "--short") == ""


async def test_attempts_share_a_worktree(repository: Path) -> None:
    agent = _Writer()
    body = "return agent('second', {isolation: 'worktree', retry: {maxAttempts: 2}})"
    async with runner(agent, worktrees=repository) as one:
        result = await one.run(script(body))
    assert result.result["value"] == "second 1\nsecond 2\n"
    assert len({(call.cwd, call.cwd_id) for call in agent.calls}) == 1
    assert left_of(repository) == []


async def test_the_work_of_a_failed_step_is_in_its_error(repository: Path) -> None:
    body = f"return agent('fail', {_ISOLATED}).catch(e => ({{...e, m: e.message}}))"
    async with runner(_Writer(), worktrees=repository) as one:
        result = await one.run(script(body))
    assert "+fail 1\n" in result.result["patch"]
    assert (result.result["m"], result.result["attempts"]) == ("cannot", 1)
    assert left_of(repository) == []


async def test_a_cancelled_step_leaves_nothing(repository: Path) -> None:
    agent = _Writer()
    async with runner(agent, worktrees=repository) as one:
        handle = await one.start(script(f"return agent('hang', {_ISOLATED})"))
        await agent.begun.wait()
        assert len(left_of(repository)) == 2
        await one.cancel(handle.run_id)
        assert (await handle.result()).status == "cancelled"
        await until(lambda: left_of(repository) == [])


async def test_a_closed_runner_leaves_nothing(repository: Path) -> None:
    agent, store = _Writer(), MemoryRuns()
    async with runner(agent, store, worktrees=repository) as one:
        await one.start(script(f"return agent('hang', {_ISOLATED})"))
        await agent.begun.wait()
    assert left_of(repository) == []


async def test_work_outlasts_a_pause(repository: Path) -> None:
    agent, store = _Writer(), MemoryRuns()
    async with runner(agent, store, worktrees=repository, linger_seconds=0) as one:
        waiting = await one.run(script(f"return agent('ask', {_ISOLATED})"))
        assert waiting.status == "waiting"
        assert left_of(repository) == [], "nothing stays while a person thinks"
    git(repository, "commit", "-q", "--allow-empty", "-m", "Later")
    async with runner(agent, store, worktrees=repository) as other:
        await other.answer(waiting.run_id, waiting.waiting_for[0]["id"], {"x": "yes"})
        result = await (await other.resume(waiting.run_id)).rest()
    assert result.result["value"] == "ask 1\nask 1\n", "what it had written is there again"
    assert result.result["base"] == git(repository, "rev-parse", "HEAD~1").strip()
    first, second = agent.calls
    assert first.cwd_id == second.cwd_id
    assert left_of(repository) == []


async def test_work_that_no_record_can_store_ends_the_step(repository: Path) -> None:
    trees = GitWorktrees(repository, patch_bytes=10)
    async with runner(_Writer(), worktrees=trees) as one:
        asked = await one.run(script(f"return agent('ask', {_ISOLATED})"))
        done = await one.run(script(f"return agent('go', {_ISOLATED})"))
    assert asked.error is not None
    assert asked.error["name"] == "WorktreeError"
    assert (
        "its work is too large to be saved until then; it is on the branch"
        in asked.error["message"]
    )
    assert done.result["patch"] is None
    branches = left_of(repository)
    assert done.result["branch"] in branches
    assert len(branches) == 2


async def test_a_worktree_that_a_dead_process_left_is_removed(repository: Path) -> None:
    agent, store, trees = _Writer(), MemoryRuns(), GitWorktrees(repository)
    async with runner(agent, store, worktrees=trees) as one:
        run_id = (await one.run(script("return ask('go on?')"))).run_id
    left = await trees.open(f"{run_id}/child/sig_1")
    async with runner(agent, store, worktrees=trees) as one:
        await (await one.resume(run_id)).rest()
    assert not left.path.exists()
    assert left_of(repository) == []


async def test_isolation_is_the_hosts_to_allow(repository: Path, tmp_path: Path) -> None:
    async def plain(prompt: str) -> str:
        return prompt

    body = f"return agent('go', {_ISOLATED})"
    async with runner(_Writer()) as one:
        result = await one.run(script(body))
        found = await one.rehearse(script(body))
    expected = "agent option isolation: the host has named no repository"
    assert result.error is not None
    assert result.error["message"].startswith(expected)
    assert found.faults[0].message.startswith(expected)
    async with runner(plain, worktrees=repository) as one:
        result = await one.run(script(body))
        found = await one.rehearse(script(body))
    assert result.error is not None
    assert "agent 'default' does not say that it works in the folder" in result.error["message"]
    assert "does not say that it works" in found.faults[0].message
    with pytest.raises(ConfigurationError, match="is not a git repository"):
        WorkflowRunner(worktrees=tmp_path)
    wrong: Any = 3
    with pytest.raises(ConfigurationError, match="worktrees takes the root of a git repository"):
        WorkflowRunner(worktrees=wrong)


async def test_rehearsals_have_stand_ins_for_work(repository: Path) -> None:
    body = (
        f"const done = await agent('go', {_ISOLATED}); return done.patch.length + done.files.length"
    )
    async with runner(_Writer(), worktrees=repository) as one:
        found = await one.rehearse(script(body))
    assert found.ends, found.error
    assert left_of(repository) == []


async def test_a_broken_repository_fails_the_step(repository: Path) -> None:
    async with runner(_Writer(), worktrees=repository) as one:
        git(repository, "update-ref", "-d", "HEAD")
        body = f"return agent('go', {_ISOLATED}).catch(e => e.name)"
        result = await one.run(script(body))
    assert result.result == "WorktreeError"


async def test_work_can_be_closed_before_it_has_begun(repository: Path) -> None:
    work = IsolatedWork(GitWorktrees(repository), "run_1/root/sig_1")
    assert await work.product() == {}
    await work.close()
    work = IsolatedWork(GitWorktrees(repository), "run_1/root/sig_1", {"id": "x", "base": "none"})
    with pytest.raises(WorktreeError):
        await work.enter(AgentCall(prompt="p"))
    await work.close()
