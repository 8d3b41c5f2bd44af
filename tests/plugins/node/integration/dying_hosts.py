"""Hosts that are killed while they start a kernel: `dying_hosts.py FOLDER COUNT`.

`FOLDER` is in the command line of each process of the kernels.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import suppress

import psutil

from interpstack_javascript.node_runtime import find_node
from interpstack_node.kernels.process import KernelProcess
from interpstack_node.kernels.starting.launch import KernelConfig
from interpstack_node.kernels.starting.sandbox import choose_sandbox

#: A start takes longer only where the machine is busy.
SECONDS = 0.04


def start_and_wait(config: KernelConfig) -> None:
    """Be a host."""
    kernel = KernelProcess(config)
    time.sleep(60)
    kernel.close()


def kill(host: int, chance: random.Random) -> None:
    """Kill a host, and perhaps the processes that it has started by now, in any order."""
    victims = [host]
    if chance.random() < 0.5:
        with suppress(psutil.NoSuchProcess):
            victims += [child.pid for child in psutil.Process(host).children()]
    chance.shuffle(victims)
    for victim in victims:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    os.waitpid(host, 0)


def main(folder: str, count: int) -> None:
    node = find_node().path
    config = KernelConfig(
        node=node,
        memory_bytes=None,
        most_bytes=2**20,
        grace_seconds=1.0,
        idle_seconds=None,
        readable=(folder,),
        sandbox=choose_sandbox("auto", node),
    )
    config.programs.descriptor()
    for seed in range(count):
        chance = random.Random(seed)
        host = os.fork()
        if host == 0:
            start_and_wait(config)
            os._exit(0)
        time.sleep(chance.uniform(0, SECONDS))
        kill(host, chance)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
