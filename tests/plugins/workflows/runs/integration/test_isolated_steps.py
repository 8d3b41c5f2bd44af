"""Isolated steps whose process dies."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from git_repositories import left_of, repository
from workflow_runs import script, until

from interpstack_workflows.api import WorkflowRunner

__all__ = ["repository"]

_DIES = """
import asyncio, sys
from pathlib import Path
from interpstack_workflows.api import WorkflowRunner

async def agent(call):
    (call.cwd / "half.txt").write_text("half")
    Path(sys.argv[3]).write_text(call.cwd_id)
    await asyncio.Event().wait()

async def main():
    agents, store = {"default": agent}, sys.argv[1]
    async with WorkflowRunner(
        agents=agents, store=store, worktrees=sys.argv[2], lease_seconds=1.0
    ) as runner:
        await runner.run(sys.stdin.read(), run_id="run_dies")

asyncio.run(main())
"""


@pytest.mark.parametrize("goes_on", [True, False], ids=["resumed", "cancelled"])
async def test_what_a_killed_process_left_is_removed(
    repository: Path, tmp_path: Path, goes_on: bool
) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    store, begun = str(tmp_path / "runs.db"), tmp_path / "begun"
    source = script("return agent('go', {isolation: 'worktree'})")
    with subprocess.Popen(  # noqa: ASYNC220 - nothing else runs here
        [sys.executable, "-c", _DIES, store, str(repository), str(begun)], stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(source.encode())
        process.stdin.close()
        await until(begun.exists, seconds=120)
        process.send_signal(signal.SIGKILL)
    assert len(left_of(repository)) == 2
    ids = []

    async def agent(call: Any) -> str:
        ids.append(call.cwd_id)
        return str(sorted(one.name for one in call.cwd.iterdir()))

    async with WorkflowRunner(
        agents={"default": agent}, store=store, worktrees=repository
    ) as runner:
        if goes_on:
            handle = await runner.resume("run_dies")
            found = (await handle.result()).result
            assert "half.txt" not in found["value"], "it begins anew, and says so"
            assert ids != [begun.read_text()]
        else:
            await runner.cancel("run_dies")
            result = await (await runner.resume("run_dies")).result()
            assert result.status == "cancelled"
            assert ids == []
    assert left_of(repository) == []
