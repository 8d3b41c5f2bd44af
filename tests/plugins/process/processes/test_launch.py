"""Tests of interpstack_process.processes.launch."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError, EngineFailure
from interpstack_process.processes.launch import WorkerConfig, default_python, launch, told_end
from interpstack_process.worker import OUT_OF_MEMORY

#: In place of Python: says how it was started.
_TELLS = """#!{python} -S
import os, sys
print(os.getcwd(), file=sys.stderr)
print(*sys.argv[1:], file=sys.stderr)
print(os.environ["GIVEN"], os.environ.get("SECRET"), file=sys.stderr)
print(os.getpgrp(), os.getpid(), file=sys.stderr)
sys.exit(3)
"""


def config(python: str, **environment: str) -> WorkerConfig:
    return WorkerConfig(
        python=python, environment=environment, message={}, max_bytes=1000, grace_seconds=1.0
    )


def test_a_worker_is_alone_in_its_group_and_knows_nothing_of_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "of the host")
    program = tmp_path / "python"
    program.write_text(_TELLS.format(python=sys.executable))
    program.chmod(0o700)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process: Any = launch(config(str(program), GIVEN="given"), theirs.fileno())
        number = theirs.fileno()
        found = process.communicate()[1].decode().splitlines()
    assert found == [
        "/",
        f"-s -P -m interpstack_process.worker {number}",
        "given None",
        f"{process.pid} {process.pid}",
    ]
    assert process.returncode == 3


_SEES = """#!{python} -S
import os, socket, sys
for number in (sys.argv[-1], os.environ["OTHER"]):
    try:
        socket.socket(fileno=int(number)).detach()
        print("has", number, file=sys.stderr)
    except OSError:
        print("lacks", number, file=sys.stderr)
"""


def test_only_the_named_sockets_are_inherited(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(_SEES.format(python=sys.executable))
    program.chmod(0o700)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.set_inheritable(True)
        number, other = theirs.fileno(), ours.fileno()
        process: Any = launch(config(str(program), OTHER=str(other)), number)
        found = process.communicate()[1].decode().splitlines()
    assert found == [f"has {number}", f"lacks {other}"]


def test_a_program_that_cannot_be_started_is_reported() -> None:
    with pytest.raises(EngineFailure, match=r"no worker process can be started: .*no-such"):
        launch(config("/no-such-python"))


def test_the_interpreter_is_the_one_that_runs_this(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_python() == sys.executable
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(ConfigurationError, match="engine's option 'worker_python'"):
        default_python()
    monkeypatch.delattr(sys, "frozen")
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ConfigurationError, match="this program is not one"):
        default_python()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "ended with status 0"),
        (OUT_OF_MEMORY, "ran out of memory (worker_memory_bytes)"),
        (-signal.SIGXCPU, "used up its CPU time (worker_cpu_seconds)"),
        (-signal.SIGALRM, "hung and ended itself"),
        (-signal.SIGKILL, "was killed by SIGKILL"),
        (-200, "was killed by signal 200"),
    ],
)
def test_the_end_of_a_worker_in_words(status: int, words: str) -> None:
    assert told_end(status) == words


def test_the_status_is_that_of_a_process() -> None:
    killed = subprocess.run(
        [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], check=False
    )
    assert told_end(killed.returncode) == "was killed by SIGKILL"
