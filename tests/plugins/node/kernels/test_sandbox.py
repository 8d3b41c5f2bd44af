"""Namespaces around kernels: the choice, the command, and the number of the kernel inside."""

from __future__ import annotations

import os
import sys

import pytest

from interpstack import EngineFailure
from interpstack_node.kernels.sandbox import Sandbox, child_of, choose_sandbox, pidfd, wrapped


def test_none_changes_nothing() -> None:
    assert choose_sandbox("none", "/no/node") is Sandbox.NONE
    assert wrapped(Sandbox.NONE, ["/x", "-e"], network=False) == ["/x", "-e"]


def test_a_sandbox_that_does_not_work_is_passed_over_or_named() -> None:
    assert choose_sandbox("auto", "/no/such/node") is Sandbox.NONE
    with pytest.raises(EngineFailure, match="cannot use the sandbox 'bubblewrap'"):
        choose_sandbox("bubblewrap", "/no/such/node")


def test_bubblewrap_gives_folders_and_the_network_that_are_named() -> None:
    command = wrapped(
        Sandbox.BUBBLEWRAP,
        ["/bin/node", "-e", "1"],
        network=False,
        readable=["/data"],
        writable=["/scratch"],
        info=7,
    )
    text = " ".join(command)
    assert "--unshare-net" in command
    assert "--ro-bind /data /data" in text
    assert "--bind /scratch /scratch" in text
    assert "--info-fd 7" in text
    assert command[-2:] == ["-e", "1"]
    assert "--unshare-net" not in wrapped(Sandbox.BUBBLEWRAP, ["/bin/node"], network=True)


def test_unshare_closes_the_network() -> None:
    assert "--net" in wrapped(Sandbox.UNSHARE, ["/bin/node"], network=False)
    assert "--net" not in wrapped(Sandbox.UNSHARE, ["/bin/node"], network=True)


@pytest.mark.parametrize(
    ("told", "child"),
    [(b'{\n "child-pid": 41\n}', 41), (b"", None), (b"{}", None), (b'{"child-pid": "x"}', None)],
)
def test_the_number_of_the_child(told: bytes, child: int | None) -> None:
    reading, writing = os.pipe()
    os.write(writing, told)
    os.close(writing)
    assert child_of(reading) == child
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reading)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
def test_a_descriptor_of_a_process() -> None:
    number = pidfd(os.getpid())
    assert number is not None
    os.close(number)
    assert pidfd(2**22 + 1) is None
