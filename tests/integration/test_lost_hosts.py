"""An event loop that is closed under a cell, and forks: sessions answer or say why not, at once."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from engines import OnEngine

from interpstack import Bridge, InterpreterStack

LOST = "Variables of earlier cells are lost"
#: Engines whose native code does not outlive a fork.
UNFORKABLE = ("v8", "monty")


def _abandon(session: Any, source: str, started: threading.Event) -> asyncio.Task[Any]:
    """Run a cell on an event loop that is closed before the cell has ended."""
    loop = asyncio.new_event_loop()

    async def begin() -> asyncio.Task[Any]:
        running = asyncio.ensure_future(session.eval(source))
        while not started.is_set():  # noqa: ASYNC110 - set in another thread
            await asyncio.sleep(0.01)
        return running

    running = loop.run_until_complete(begin())
    loop.close()
    return running


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("collected", [False, True], ids=["kept", "collected"])
@pytest.mark.parametrize("state", ["waiting", "computing"])
@pytest.mark.engines("all")
def test_a_session_outlives_the_event_loop_of_its_cell(
    on_engine: OnEngine, state: str, collected: bool
) -> None:
    started, python = threading.Event(), on_engine.language == "python"
    endless = "while True: pass" if python else "for (;;);"
    rest = "await kit.hang()" if state == "waiting" else endless

    async def hang() -> None:
        await asyncio.sleep(60)

    bridges = [
        Bridge(name="kit.start", handler=started.set),
        Bridge(name="kit.hang", handler=hang),
    ]
    with InterpreterStack(on_engine.name, bridges=bridges) as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = stack.session("s")
        running: Any = _abandon(session, f"await kit.start(){chr(10)}{rest}", started)
        if collected:
            running = None
            gc.collect()
        outcome = session.eval_sync("1 + 1")
        assert (outcome.text, outcome.error) == ("2", None)
        assert LOST in " ".join(outcome.notices)
        assert session.eval_sync("2 + 2").notices == ()
        del running


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("state", ["idle", "waiting", "computing", "closed"])
@pytest.mark.engines("all")
def test_the_child_of_a_fork_starts_anew_or_says_why_not(on_engine: OnEngine, state: str) -> None:
    script = Path(__file__).with_name("forking.py")
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(
        [*command, on_engine.name, on_engine.language, state],
        capture_output=True,
        text=True,
        check=False,
    )
    data = {key: v for line in done.stdout.splitlines() for key, v in json.loads(line).items()}
    assert data.keys() == {"child", "parent"}, done.stderr
    assert state == "closed" or data["parent"]["text"] == "1"
    child = data["child"]
    if on_engine.name in UNFORKABLE:
        assert all("before it was forked" in one["error"] for one in child.values())
        return
    assert child["new"]["text"] == "2"
    if state == "closed":  # before the fork, with all variables
        return
    assert child["idle"]["text"] == "1"
    if state == "idle":
        assert child["busy"]["text"] == "1"
    else:
        assert "x" in child["busy"]["error"]
        assert LOST in " ".join(child["busy"]["notices"])
