"""Processes killed while they save: another one finds the old or the new state, never half.

The log of a state has all entries of an append, or none, and all of those that were told of.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from interpstack_state import StateStore, open_store

#: Saves whole states of one byte, each with the next number, and tells when the first is there.
_SAVING = """
import sys
from interpstack_state import open_store

store, number, size = open_store(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
while True:
    store.claim("talk", sys.argv[4], 600)
    number += 1
    store.save("talk", sys.argv[4], bytes([number % 256]) * size, 600)
    print(number, flush=True)
"""
#: Appends batches of entries, each with its number, and tells of each.
_APPENDING = """
import sys
from interpstack_state import open_store

store, number, size = open_store(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
store.create("run", b"blob")
store.take("run", sys.argv[4], 0)
while True:
    entry = str(number).rjust(size)
    store.append("run", sys.argv[4], 3 * number, [entry, entry, entry])
    number += 1
    print(number, flush=True)
"""
_KILLS = 4
_SIZE = 2**20


@pytest.mark.parametrize("kind", ["file", "sqlite", "postgres", "redis"])
def test_a_state_is_old_or_new(kind: str, request: Any, tmp_path: Path) -> None:
    url = {
        "file": lambda: f"file://{tmp_path}/states",
        "sqlite": lambda: f"sqlite:///{tmp_path}/states.db",
        "postgres": lambda: _as_url(request.getfixturevalue("postgres").new_database()),
        "redis": lambda: request.getfixturevalue("redis_server").url,
    }[kind]()
    dice, number = random.Random(7), 0
    with open_store(url) as store:
        store.delete("talk")
        for life in range(_KILLS):
            token = f"life {life}"
            number = _killed(url, number, token, dice.randint(1, 6), dice.uniform(0, 0.01))
            # The claim of the dead holds; its token is known here.
            data = store.claim("talk", token, 600)
            assert data is not None
            assert len(data) == _SIZE
            assert set(data) <= {number % 256, (number + 1) % 256}
            assert len(set(data)) == 1
            number += data[0] != number % 256
            store.renew("talk", token, 0)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_log_has_whole_appends(kind: str, request: Any, tmp_path: Path) -> None:
    url = {
        "sqlite": lambda: f"sqlite:///{tmp_path}/states.db",
        "postgres": lambda: _as_url(request.getfixturevalue("postgres").new_database()),
    }[kind]()
    dice, number = random.Random(7), 0
    with open_store(url) as store:
        assert isinstance(store, StateStore)
        for life in range(_KILLS):
            wait = dice.uniform(0, 0.01)
            found = _killed(url, number, f"life {life}", dice.randint(1, 6), wait, _APPENDING)
            log = store.log("run")
            number, rest = divmod(len(log), 3)
            assert rest == 0
            assert found <= number <= found + 1
            assert [int(entry) for entry in log] == [place // 3 for place in range(len(log))]


def _killed(
    url: str, number: int, token: str, saves: int, seconds: float, program: str = _SAVING
) -> int:
    """The number of the last save that a process has told of before it was killed."""
    command = [sys.executable, "-c", program, url, str(number), str(_SIZE), token]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(saves):
            number = int(process.stdout.readline())
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            number = int(line) if line.endswith("\n") else number
    assert process.returncode == -signal.SIGKILL
    return number


def _as_url(dsn: str) -> str:
    parts = dict(part.split("=", 1) for part in dsn.split())
    return f"postgresql:///{parts['dbname']}?host={parts['host']}&user={parts['user']}"
