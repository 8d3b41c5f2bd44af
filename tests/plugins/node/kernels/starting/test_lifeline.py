"""Processes that end with their host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kernels import descriptors, has_ended, write_program

from interpstack_node.kernels.starting.lifeline import Lifeline

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the signals")


def _started(folder: Path, lifeline: Lifeline) -> tuple[subprocess.Popen[str], int]:
    """A process that leads a group, and the number of another one in the group."""
    path = write_program(folder / "pair", "sleep 600 & echo $!; wait")
    process = subprocess.Popen(
        [path],
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=lifeline.inherited,
        start_new_session=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("first", ["nobody", "leader"])
def test_processes_end_when_the_hosts_end_closes(tmp_path: Path, first: str) -> None:
    lifeline = Lifeline()
    process, other = _started(tmp_path, lifeline)
    with process:
        lifeline.tie(process.pid)
        if first == "leader":
            process.kill()
            process.wait()
        assert not has_ended(other, 0.05)
        lifeline.close()
        assert has_ended(other)
        assert process.wait() == -9
    lifeline.close()


def test_the_child_of_a_fork_ends_nothing(tmp_path: Path) -> None:
    lifeline = Lifeline()
    process, other = _started(tmp_path, lifeline)
    with process:
        lifeline.tie(process.pid)
        copy = os.dup(lifeline._ours or -1)  # as a child of the host has it
        lifeline.close()
        assert not has_ended(other, 0.05)
        os.close(copy)
        assert has_ended(other)


def test_processes_that_have_ended_are_no_error(tmp_path: Path) -> None:
    lifeline = Lifeline()
    process, other = _started(tmp_path, lifeline)
    with process:
        os.killpg(process.pid, 9)
        process.wait()
        assert has_ended(other)
        lifeline.tie(process.pid)
    lifeline.close()


def test_a_start_that_fails_keeps_no_descriptor() -> None:
    before = descriptors()
    lifeline = Lifeline()
    assert len(descriptors() - before) == 1, "both ends of a pipe have one inode"
    lifeline.close()
    assert descriptors() <= before
