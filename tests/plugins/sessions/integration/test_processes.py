"""Conversations that hop between processes, some of which are killed or stopped."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
import pytest

#: Runs the cells that come line by line, and prints their outcomes.
_WORKER = """
import json, os, sys, time
from interpstack import InterpreterStack, bridge
from interpstack_sessions.api import StoredSessions
from interpstack_state import EncryptedStore, open_store

url, secret, saves = sys.argv[1:]

@bridge
def hold():
    print("held", flush=True)
    time.sleep(3600)

@bridge
def pause():
    print("held", flush=True)
    time.sleep(2)

store = EncryptedStore(open_store(url), bytes.fromhex(secret))
plugin = StoredSessions(store, saves=saves, claim_seconds=1, patience_seconds=60)
with store, InterpreterStack("quickjs", [plugin], bridges=[hold, pause]) as stack:
    print("ready", flush=True)
    for line in sys.stdin:
        outcome = stack.session("talk").eval_sync(json.loads(line))
        error = outcome.error and outcome.error.name
        print(json.dumps([outcome.text, error, outcome.state]), flush=True)
"""


@attrs.define
class _Worker:
    process: subprocess.Popen[str]

    def send(self, source: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(source) + "\n")
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def run(self, source: str) -> Any:
        self.send(source)
        return json.loads(self.line())

    def text(self, source: str) -> str:
        text, error, _ = self.run(source)
        assert error is None
        return str(text)

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[..., _Worker]]:
    secret = secrets.token_hex(32)
    with ExitStack() as stack:

        def start(saves: str = "cell") -> _Worker:
            command = [sys.executable, "-c", _WORKER, f"sqlite:///{tmp_path}/s.db", secret, saves]
            process = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(process.kill)
            made = _Worker(process)
            assert made.line() == "ready"
            return made

        yield start


def test_functions_and_closures_hop_with_their_conversation(
    worker: Callable[..., _Worker], tmp_path: Path
) -> None:
    one, other = worker(), worker()
    assert one.text("let secretNumber = 1; const next = () => ++secretNumber; next()") == "2"
    for number in range(3, 9, 2):
        assert other.text("next()") == str(number)
        assert one.text("next()") == str(number + 1)
    assert b"secretNumber" not in (tmp_path / "s.db").read_bytes()


def test_a_closed_process_leaves_what_it_had_not_saved_before(
    worker: Callable[..., _Worker],
) -> None:
    one = worker("sleep")
    assert one.text("let n = 1; const next = () => ++n; next()") == "2"
    one.end()
    assert worker("sleep").text("next()") == "3"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_killed_process_loses_the_cell_that_it_ran(worker: Callable[..., _Worker]) -> None:
    one, other = worker(), worker()
    assert one.text("let n = 1; n") == "1"
    one.send("n = 2; await hold(); n")
    assert one.line() == "held"
    one.process.send_signal(signal.SIGKILL)
    assert other.text("n") == "1"  # once the claim of the dead has ended


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_stopped_process_is_a_stale_owner(worker: Callable[..., _Worker]) -> None:
    one, other = worker(), worker()
    assert one.text("let n = 1; n") == "1"
    one.send("n = 2; await pause(); n = 3; n")
    assert one.line() == "held"
    one.process.send_signal(signal.SIGSTOP)
    try:
        assert other.text("n = 10; n") == "10"
    finally:
        one.process.send_signal(signal.SIGCONT)
    _, error, state = json.loads(one.line())
    assert (error, state) in [("SessionTaken", "lost"), (None, "lost")]
    assert other.text("n") == "10"
    assert one.text("n") == "10"
