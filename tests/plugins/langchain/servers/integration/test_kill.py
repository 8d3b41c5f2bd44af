"""A process that is killed: calls of MCP tools that were answered before are not made again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from mcp_config import Notes

SUPPORT = Path(__file__).parents[4] / "support"


async def _process(folder: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(SUPPORT / "mcp_agent.py"),
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
    )


@pytest.mark.timeout(900)  # two agents start, each with its servers
async def test_answered_calls_are_not_made_again(tmp_path: Path) -> None:
    notes = Notes.empty(tmp_path)
    first = await _process(tmp_path)
    while not (tmp_path / "held").exists():
        assert first.returncode is None
        await asyncio.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    assert await first.wait() == -signal.SIGKILL
    before = notes.text()
    assert sorted(before.split()) == ["a", "b", "first"]
    second = await _process(tmp_path)
    output, _ = await second.communicate()
    assert second.returncode == 0
    assert json.loads(output) == ["<result>noted first,noted a,noted b,noted last</result>"]
    assert notes.text() == f"{before}last\n"
