"""How kernels are started, and what a start that fails leaves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from kernels import descriptors, has_ended, kernel_config

from interpstack import EngineFailure
from interpstack_node.kernels.process import KernelDied, KernelProcess
from interpstack_node.kernels.programs import program
from interpstack_node.kernels.starting.held import HeldStart
from interpstack_node.kernels.starting.sandbox import Sandbox

#: Begins a child that waits for it, as bubblewrap does, notes the child's number, and is killed.
_KILLED = """#!{python}
import os, sys, time
info = int(sys.argv[sys.argv.index("--info-fd") + 1])
child = os.fork()
if child == 0:
    os.close(info)
    time.sleep(600)
with open({told!r}, "w") as file:
    file.write(str(child))
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a stand-in for bubblewrap, which is killed at its start, notes its child."""
    found = tmp_path / "told"
    program = tmp_path / "bwrap"
    program.write_text(_KILLED.format(python=sys.executable, told=str(found)), "utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return found


def test_programs_are_functions() -> None:
    for name in ("boot.js", "main.js", "guest.js"):
        assert program(name).rstrip().endswith("}") or name == "boot.js"
        assert "=> {" in program(name)


def test_a_sandbox_that_is_killed_leaves_no_child(begun: Path) -> None:
    kernel = KernelProcess(kernel_config("/bin/true", sandbox=Sandbox.BUBBLEWRAP))
    with pytest.raises(KernelDied, match="was ended by SIGKILL"):
        kernel.start()
    assert has_ended(int(begun.read_text()))


def test_a_start_that_is_interrupted_leaves_nothing(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(held: HeldStart) -> None:
        held._told.read(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(HeldStart, "child", interrupted)
    config = kernel_config("/bin/true", sandbox=Sandbox.BUBBLEWRAP)
    config.programs.descriptor()
    before = descriptors()
    with pytest.raises(KeyboardInterrupt):
        KernelProcess(config)
    assert has_ended(int(begun.read_text()))
    assert descriptors() <= before


def test_a_start_that_fails_leaves_no_descriptor(tmp_path: Path) -> None:
    config = kernel_config(str(tmp_path / "absent"))
    config.programs.descriptor()
    before = descriptors()
    with pytest.raises(EngineFailure, match="no kernel process can be started"):
        KernelProcess(config)
    assert descriptors() <= before
