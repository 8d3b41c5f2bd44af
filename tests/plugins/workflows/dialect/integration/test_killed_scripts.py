"""A script for Claude Code whose process is killed in the middle, and that goes on elsewhere."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from claude_code_scripts import SCRIPTS

_RUNS = """
import asyncio, json, os, signal, sys
from pathlib import Path
from interpstack_workflows.api import AgentAnswer, WorkflowRunner, WorkflowUsage, open_store

engine, script, dies_at = sys.argv[1:]
store = open_store("runs.db")

async def stored():
    return sum(len(entry.settled) for entry in await store.entries("killed"))

async def agent(call):
    if call.label == dies_at:
        while await stored() < 3:  # the plan and the other two angles
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    with open("calls", "a") as file:
        file.write(call.prompt + "\\n")
    value = {"angles": ["age", "size", "origin"]} if call.schema else f"<{call.prompt}>"
    return AgentAnswer(value, WorkflowUsage(output_tokens=7))

async def main():
    async with WorkflowRunner(
        engine, agents={"default": agent}, store=store, lease_seconds=1
    ) as runner:
        if dies_at:
            await runner.run(Path(script), {"topic": "tides"}, run_id="killed", budget=1000)
        else:
            done = await (await runner.resume("killed")).result()
            print(json.dumps([done.status, done.result, done.usage["agents"], done.error]))
    await store.aclose()

asyncio.run(main())
"""


def _in_a_process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _RUNS, *arguments],
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
async def test_each_agent_of_a_killed_script_is_called_once(engine: str, tmp_path: Path) -> None:
    script = str(SCRIPTS / "research.js")
    killed = await asyncio.to_thread(_in_a_process, tmp_path, engine, script, "origin")
    assert killed.returncode == -signal.SIGKILL
    before = (tmp_path / "calls").read_text().splitlines()
    assert sorted(before) == ["Name the angles of tides", "Search tides: age", "Search tides: size"]
    # The script itself is stored with its run: another process needs no file.
    resumed = await asyncio.to_thread(_in_a_process, tmp_path, engine, "gone.js", "")
    notes = [f"<Search tides: {angle}>" for angle in ("age", "size", "origin")]
    merge = "Merge:\n" + "\n".join(notes)
    assert json.loads(resumed.stdout) == [
        "completed",
        {"notes": notes, "report": f"<{merge}>"},
        5,
        None,
    ]
    calls = Counter((tmp_path / "calls").read_text().replace("\n<", "<").splitlines())
    assert calls == {
        "Name the angles of tides": 1,
        "Search tides: age": 1,
        "Search tides: size": 1,
        "Search tides: origin": 1,
        merge.replace("\n", ""): 1,
    }
