"""Approvals inside agents, answered in another process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import approving_team
import pytest
from approving_team import SOURCE, effects, team
from stores import Store

from interpstack_workflows.api import WorkflowRunner

both = pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)


def _url(store: Store) -> str:
    place = str(store.place)
    if store.name == "sqlite":
        return place
    given = dict(part.split("=", 1) for part in place.split())
    return f"postgresql:///{given['dbname']}?host={given['host']}&user={given['user']}"


def _in_another_process(url: str, folder: Path, run_id: str) -> Any:
    support = str(Path(approving_team.__file__).parent)
    done = subprocess.run(
        [sys.executable, approving_team.__file__, url, str(folder), run_id],
        env={**os.environ, "PYTHONPATH": support},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@both
async def test_agents_go_on_where_they_were(store: Store, tmp_path: Path) -> None:
    url = _url(store)
    async with WorkflowRunner(agents=team(tmp_path), store=url, linger_seconds=0) as runner:
        waiting = await runner.run(SOURCE)
    assert waiting.status == "waiting", waiting.error
    asked = [one for wait in waiting.waiting_for for one in wait["approvals"]]
    assert sorted(one["args"]["amount"] for one in asked) == [1, 2, 3]
    assert effects(tmp_path) == ["look account", "look bill"], "nothing is paid before"
    done = await asyncio.to_thread(_in_another_process, url, tmp_path, waiting.run_id)
    assert done == {
        "status": "completed",
        "result": {"paid": ["answer to a", "answer to b"]},
        "error": None,
        "input_tokens": 80,  # three calls of the payer's model, two of the chief's, three within
        "output_tokens": 40,
    }
    assert effects(tmp_path) == ["look account", "look bill", "pay 1", "pay 2", "pay 3"]


@both
async def test_a_run_that_is_resumed_before_the_answer_does_nothing_again(
    store: Store, tmp_path: Path
) -> None:
    url = _url(store)
    async with WorkflowRunner(agents=team(tmp_path), store=url, linger_seconds=0) as runner:
        run_id = (await runner.run(SOURCE)).run_id
    for _ in range(2):
        async with WorkflowRunner(agents=team(tmp_path), store=url, linger_seconds=0) as runner:
            again = await (await runner.resume(run_id)).rest()
        assert again.status == "waiting"
        assert again.usage["input_tokens"] == 50
    assert effects(tmp_path) == ["look account", "look bill"]
