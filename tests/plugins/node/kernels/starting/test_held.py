"""The start of bubblewrap, which the host holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing

import pytest

from interpstack_node.kernels.starting.held import HeldStart
from interpstack_node.kernels.starting.sandbox import Sandbox, wrapped


@pytest.mark.parametrize(
    ("found", "child"),
    [(b'{\n "child-pid": 41\n}', 41), (b"", None), (b"{}", None), (b'{"child-pid": "x"}', None)],
)
def test_the_number_of_the_child(found: bytes, child: int | None) -> None:
    with closing(HeldStart()) as held:
        os.write(held.info, found)
        held.begin()
        assert held.child() == child


def test_a_program_gets_the_last_option_and_its_end_though_a_fork_has_a_copy() -> None:
    with closing(HeldStart()) as held:
        copy, options = os.dup(held._ours.fileno()), os.dup(held.options)
        held.begin()
        assert os.read(options, 100) == b"--unshare-uts\0"
        assert os.read(options, 100) == b""
        os.close(copy)
        os.close(options)


def test_a_program_that_has_ended_is_no_error() -> None:
    with closing(HeldStart()) as held:
        held.begin()
        assert held.child() is None


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_bubblewrap_begins_nothing_without_its_host() -> None:
    """Its host ends before it lets it begin."""
    with closing(HeldStart()) as held:
        command = wrapped(Sandbox.BUBBLEWRAP, ["/bin/true"], network=False, held=held)
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, pass_fds=(held.options, held.info)
        )
    with process:
        _, said = process.communicate()
    assert process.returncode == 1
    assert b"requires --unshare-uts" in said
