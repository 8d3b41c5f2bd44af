"""Signals to kernels that were started, and the words about their end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from kernels import has_ended, write_program

from interpstack_node.kernels.starting import launched
from interpstack_node.kernels.starting.launched import Launched, told_end
from interpstack_node.kernels.starting.lifeline import Lifeline


@pytest.mark.parametrize(
    ("status", "started", "found"),
    [
        (None, True, "closed its connection"),
        (0, True, "ended with status 0"),
        (9, False, "ended with status 9: bad option"),
        (-signal.SIGKILL, True, "was ended by SIGKILL"),
        (-signal.SIGINT, True, "ended when its guest was to stop"),
        (-signal.SIGXCPU, True, "used up its computing time"),
        (-200, True, "was ended by signal 200"),
    ],
)
def test_the_end_of_a_process_in_words(status: int | None, started: bool, found: str) -> None:
    """What a kernel prints is shown only if it printed that before any guest ran."""
    assert told_end(status, b"bad option\n", started) == found


@pytest.mark.parametrize("by_number", [False, True])
def test_the_process_inside_a_sandbox_gets_signals_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_number: bool
) -> None:
    """Also where the system has no descriptors of processes, or none is left."""
    if by_number:
        monkeypatch.setattr(launched, "pidfd", lambda pid: None)
    found = tmp_path / "told"
    inner = write_program(
        tmp_path / "inner",
        f"trap 'echo 1 > {found}' USR1; echo $$; while :; do sleep 0.01; done",
    )
    outer = write_program(tmp_path / "outer", f"{inner} & wait")
    process = subprocess.Popen([outer], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    number = int(process.stdout.readline())
    process.stdout.close()
    ours, theirs = socket.socketpair()
    theirs.close()
    kernel = Launched(process, number, Lifeline(), None)
    kernel.signal(signal.SIGUSR1)
    while not found.exists():
        time.sleep(0.01)
    assert process.poll() is None
    kernel.end(ours, host=os.getpid())
    assert has_ended(number)
    assert process.returncode is not None
    kernel.signal(signal.SIGINT)  # nobody is there
