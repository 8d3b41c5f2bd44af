"""No process of a kernel outlives its host, whenever that dies, or is left when it is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
from kernels import kernel_config

from interpstack_javascript.node_runtime import find_node
from interpstack_node.kernels.process import KernelDied, KernelProcess
from interpstack_node.kernels.starting.sandbox import choose_sandbox

#: All in the environment `node` of tox; a sample in the suite.
STARTS = 200 if os.environ.get("INTERPSTACK_LOAD") else 12
#: A start takes longer only where the machine is busy.
KILL_SECONDS = 0.03


def _left(folder: Path) -> list[psutil.Process]:
    """The processes with this folder in their command line, after the time that they need to end.

    A kernel notices that its host is gone once Node has started.
    """
    ends = time.monotonic() + 60
    while (found := _with_word(str(folder))) and time.monotonic() < ends:
        time.sleep(0.05)
    return found


def _with_word(word: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.pid != os.getpid() and any(word in part for part in process.cmdline()):
                found.append(process)
    return found


def test_hosts_that_are_killed_while_they_start_kernels(tmp_path: Path) -> None:
    script = Path(__file__).with_name("dying_hosts.py")
    marker = tmp_path / "marker"
    marker.mkdir()
    subprocess.run([sys.executable, str(script), str(marker), str(STARTS)], check=True)
    assert _left(marker) == []


def _kill_one(folder: Path, chance: random.Random) -> None:
    """Kill a process of the kernel that is being started."""
    while not (found := _with_word(str(folder))):
        time.sleep(0.001)
    time.sleep(chance.uniform(0, KILL_SECONDS))
    with suppress(ProcessLookupError):
        os.kill(chance.choice(found).pid, signal.SIGKILL)


def test_processes_that_are_killed_while_they_start(tmp_path: Path) -> None:
    """Either that of the sandbox or that of the kernel; the host goes on."""
    node = find_node().path
    config = kernel_config(node, readable=(str(tmp_path),), sandbox=choose_sandbox("auto", node))
    for seed in range(STARTS):
        killer = threading.Thread(target=_kill_one, args=(tmp_path, random.Random(seed)))
        killer.start()
        kernel = KernelProcess(config)
        with suppress(KernelDied):
            kernel.start()
        killer.join(60)
        kernel.close()
    assert _left(tmp_path) == []
