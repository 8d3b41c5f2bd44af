"""Namespaces around kernels: the choice, the command, and the number of the kernel inside."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from kernels import has_ended, write_program

from interpstack import EngineFailure
from interpstack_node.kernels.starting import sandbox
from interpstack_node.kernels.starting.held import LAST_OPTION, HeldStart
from interpstack_node.kernels.starting.sandbox import (
    Sandbox,
    choose_sandbox,
    end_group,
    pidfd,
    wrapped,
)


def test_none_changes_nothing() -> None:
    assert choose_sandbox("none", "/no/node") is Sandbox.NONE
    assert wrapped(Sandbox.NONE, ["/x", "-e"], network=False) == ["/x", "-e"]


def test_a_sandbox_that_does_not_work_is_passed_over_or_named() -> None:
    assert choose_sandbox("auto", "/no/such/node") is Sandbox.NONE
    with pytest.raises(EngineFailure, match="cannot use the sandbox 'bubblewrap'"):
        choose_sandbox("bubblewrap", "/no/such/node")


def test_bubblewrap_gives_folders_and_the_network_that_are_named() -> None:
    with closing(HeldStart()) as held:
        numbers = held.info, held.options
        command = wrapped(
            Sandbox.BUBBLEWRAP,
            ["/bin/node", "-e", "1"],
            network=False,
            readable=["/data"],
            writable=["/scratch"],
            held=held,
        )
    text = " ".join(command)
    assert "--unshare-net" in command
    assert "--ro-bind /data /data" in text
    assert "--bind /scratch /scratch" in text
    assert "--info-fd {} --args {}".format(*numbers) in text
    assert LAST_OPTION not in command
    assert command[-2:] == ["-e", "1"]
    at_once = wrapped(Sandbox.BUBBLEWRAP, ["/bin/node"], network=True)
    assert "--unshare-net" not in at_once
    assert LAST_OPTION in at_once


def test_unshare_closes_the_network() -> None:
    assert "--net" in wrapped(Sandbox.UNSHARE, ["/bin/node"], network=False)
    assert "--net" not in wrapped(Sandbox.UNSHARE, ["/bin/node"], network=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
def test_a_sandbox_that_hangs_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    write_program(tmp_path / "bwrap", f"sleep 600 & echo $! > {started}; wait")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(sandbox, "_TRY_SECONDS", 0.5)
    node = write_program(tmp_path / "node", "exit 0")
    with pytest.raises(EngineFailure, match="timed out after"):
        choose_sandbox("bubblewrap", node)
    assert has_ended(int(started.read_text()))


def test_the_group_of_a_process_whose_end_is_known_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: killed.append(group))
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as process:
        end_group(process)
        process.kill()
    end_group(process)
    assert killed == [process.pid]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
def test_a_descriptor_of_a_process() -> None:
    number = pidfd(os.getpid())
    assert number is not None
    os.close(number)
    assert pidfd(2**22 + 1) is None
