"""A command that is asked to end gives its run back at once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interpstack_workflows.api import open_store

_AGENTS = """
import asyncio
from pathlib import Path


async def default(prompt):
    Path("begun").touch()
    await asyncio.sleep(600)
"""
_SOURCE = """
export const meta = { name: "n", description: "d" };
export default async () => agent("wait");
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_asked_end_gives_the_run_back(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    (tmp_path / "w.workflow.js").write_text(_SOURCE)
    (tmp_path / "team.py").write_text(_AGENTS)
    program = "import interpstack_cli; interpstack_cli.start()"
    command = [sys.executable, "-c", program, "workflow", "run", "w.workflow.js"]
    options = ["--agents", "team:default", "--run-id", "mine"]
    with subprocess.Popen(
        [*command, *options], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        until = time.monotonic() + 120
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    assert process.returncode == status, error.decode()
    assert b"Traceback" not in error
    asyncio.run(_check_given_back(str(tmp_path / "workflows.db")))


async def _check_given_back(place: str) -> None:
    store = open_store(place, create=False)
    try:
        # A lease that lasts could not be claimed.
        assert (await store.take("mine", "another", 1.0)).lease is not None
        record = await store.read("mine")
        assert record is not None
        assert record.status == "running"
    finally:
        await store.aclose()
