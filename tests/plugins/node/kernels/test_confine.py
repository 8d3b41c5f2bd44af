"""Limits that the system puts on another process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from interpstack_node.kernels import confine

pytestmark = pytest.mark.skipif(not confine.CONFINES, reason="only Linux limits other processes")

OPENER = """
import sys
print("up", flush=True)
sys.stdin.readline()
try:
    open("/dev/null")
    print("opened", flush=True)
except OSError as error:
    print(error.strerror, flush=True)
for _ in range(10_000_000): pass
sys.stdin.readline()
"""


def _opener() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", OPENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def test_a_sealed_process_opens_nothing() -> None:
    with _opener() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        confine.seal(process.pid, 64 * 2**20)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "Too many open files\n"
        process.stdin.close()


def test_the_clock_is_that_of_the_process() -> None:
    with _opener() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        clock = confine.cpu_clock(process.pid)
        before = clock()
        assert clock() == before  # it waits
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "opened\n"
        process.stdin.close()
        process.stdin = None
        process.stdout.read()
        process.wait()
    assert before > 0


def test_limits_of_a_process_that_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    confine.seal(process.pid, 64 * 2**20)
    confine.allow_cpu(process.pid, 1.0, 1.0)


def test_time_is_limited_and_given_back() -> None:
    import resource

    with _opener() as process:
        confine.allow_cpu(process.pid, 2.0, 5.0)
        assert resource.prlimit(process.pid, resource.RLIMIT_CPU)[0] == 42
        confine.allow_rest(process.pid, 2.5)
        assert resource.prlimit(process.pid, resource.RLIMIT_CPU)[0] == 5
        confine.allow_cpu(process.pid, 2.0, None)
        hard = resource.prlimit(process.pid, resource.RLIMIT_CPU)[1]
        assert resource.prlimit(process.pid, resource.RLIMIT_CPU)[0] == hard
        process.kill()
