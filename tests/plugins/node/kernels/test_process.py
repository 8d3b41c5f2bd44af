"""One kernel process, and programs that only pretend to be one."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from kernels import GREETING, Fake, drive, end, kernel_config, started

from interpstack import EngineFailure
from interpstack_javascript.node_runtime import find_node
from interpstack_node.kernels.conversation import Callbacks
from interpstack_node.kernels.process import KernelDied, KernelProcess
from interpstack_node.kernels.waiting import converse


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("", "ended with status 0"),
        ("sys.exit('no such option')", "ended with status 1: no such option"),
        ("os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
        ("os.close(connection.fileno()); import time; time.sleep(60)", "closed its connection"),
        ("send('D', b'{}')\nreceive()", "did not start as kernels do"),
        ("connection.sendall(b'HTTP/1.1 200 OK')\nreceive()", "no known kind"),
        ("connection.sendall(b'Z' + b'\\xff' * 4)\nreceive()", "at most 1048576"),
    ],
)
def test_a_program_that_is_no_kernel_is_reported(fake_node: Fake, body: str, found: str) -> None:
    with pytest.raises(KernelDied, match=found):
        started(fake_node(body))


@pytest.mark.parametrize("deaf", ["", "import signal; signal.signal(signal.SIGINT, lambda *_: 0)"])
def test_what_does_not_stop_is_ended(fake_node: Fake, deaf: str) -> None:
    body = f"{deaf}\n{GREETING}receive(); {end()}\nreceive()\nwhile True: pass"
    kernel = started(fake_node(body))
    with pytest.raises(KernelDied) as died:
        kernel.ask("begin", seconds=0.1)
    assert died.value.slow
    assert ("did not stop" in str(died.value)) is bool(deaf)
    assert not _exists(kernel.pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_kernel_that_reads_nothing_is_ended(fake_node: Fake) -> None:
    body = f"{GREETING}receive(); {end()}\nimport time; time.sleep(600)"
    kernel = started(fake_node(body), grace_seconds=0.2)
    late = Callbacks(is_interrupted=lambda: True)
    talk = kernel.talk(["say", "x" * 10_000_000], 60.0, late)
    with pytest.raises(KernelDied, match=r"did not stop within|was to stop"):
        drive(time.sleep(min(wait.seconds, 0.05)) for wait in talk)


def test_an_idle_kernel_ends_itself() -> None:
    kernel = KernelProcess(kernel_config(find_node().path, idle_seconds=0.1))
    ends = time.monotonic() + 60
    while kernel.alive:
        assert time.monotonic() < ends
        time.sleep(0.02)
    with pytest.raises(KernelDied, match="ended with status 0"):
        kernel.ask("say", "[]", seconds=1)


def test_a_closed_kernel_leaves_nothing() -> None:
    kernel = KernelProcess(kernel_config(find_node().path))
    kernel.close()
    kernel.close()
    assert not _exists(kernel.pid)
    with pytest.raises(KernelDied, match="was closed"):
        kernel.ask("say", "[]", seconds=1)


async def test_a_cancelled_caller_waits_for_the_guest(fake_node: Fake) -> None:
    deaf = f"import signal, time; signal.signal(signal.SIGINT, lambda *_: {end(stopped=True)})"
    loop = "receive()\nwhile True: time.sleep(0.01)"
    kernel = started(fake_node(f"{deaf}\n{GREETING}receive(); {end()}\n{loop}"))
    stopped: list[bool] = []
    waits = Callbacks(is_interrupted=lambda: bool(stopped))
    talk = kernel.talk(["begin"], None, waits)
    task = asyncio.create_task(converse(talk, lambda: stopped.append(True)))
    await asyncio.sleep(0.1)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped == [True]
    kernel.close()


def test_a_program_that_cannot_bestarted(tmp_path: Path) -> None:
    with pytest.raises(EngineFailure, match="no kernel process can be started"):
        KernelProcess(kernel_config(str(tmp_path / "absent")))
