"""The kernel processes of one engine: started ahead, and a bounded number alive."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import Protocol

from interpstack import EngineFailure
from interpstack_node.kernels.process import KernelProcess
from interpstack_node.kernels.starting.launch import KernelConfig

__all__ = ["KernelPool"]


class KernelHolder(Protocol):
    """A realm with a kernel."""

    def rest(self) -> None:
        """Give the kernel up, unless a cell runs in it."""


class KernelPool:
    """Kernels of an engine.

    Args:
        most: Realms that may have a kernel at once, unless more of them run a cell; the one used
            longest ago gives its kernel up.
        prestarted: Kernels that are started before a realm needs them.
    """

    def __init__(self, most: int, prestarted: int) -> None:
        self._most = most
        self._prestarted = prestarted
        # A finalizer may run in the middle of anything, also in a thread that holds this.
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._spares: list[KernelProcess] = []
        self._starting = 0
        self._residents: OrderedDict[int, KernelHolder] = OrderedDict()
        self._closed = False

    @property
    def resident(self) -> int:
        """Realms that have a kernel."""
        return len(self._residents)

    def check_open(self) -> None:
        """Refuse to go on once the engine was closed.

        Raises:
            EngineFailure: It was.
        """
        if self._closed:
            raise EngineFailure("the engine was closed; make a new stack")

    def take(self, config: KernelConfig) -> KernelProcess:
        """A kernel that no realm has had: one that was started ahead, or a new one.

        Raises:
            EngineFailure: The engine was closed, or no process can be started.
        """
        with self._lock:
            self.check_open()
            self._after_fork()
            while self._spares:
                kernel = self._spares.pop()
                if kernel.config == config and kernel.alive:
                    return kernel
                kernel.close()
        return KernelProcess(config)

    def start_ahead(self, config: KernelConfig) -> None:
        """Have as many kernels started as are to wait for realms.

        Raises:
            EngineFailure: No process can be started.
        """
        with self._lock:
            self._after_fork()
            useless = [one for one in self._spares if one.config != config or not one.alive]
            self._spares = [one for one in self._spares if one not in useless]
        for kernel in useless:
            kernel.close()
        while self._begin_spare():
            try:
                kernel = KernelProcess(config)
            finally:
                self._starting -= 1
            with self._lock:
                if not self._closed:
                    self._spares.append(kernel)
                    continue
            kernel.close()

    def _begin_spare(self) -> bool:
        """Whether to start one more, which counts at once: others do not wait for its start."""
        with self._lock:
            few = len(self._spares) + self._starting < self._prestarted
            if self._closed or not few:
                return False
            self._starting += 1
            return True

    def start_behind(self, config: KernelConfig) -> None:
        """Do as `start_ahead` in a thread of its own, if there is something to start.

        A start takes milliseconds, and this is called while others wait for the next cell.
        """
        with self._lock:
            self._after_fork()
            enough = len(self._spares) + self._starting >= self._prestarted
        if not enough:
            threading.Thread(target=self._start_quietly, args=(config,), daemon=True).start()

    def _start_quietly(self, config: KernelConfig) -> None:
        with suppress(EngineFailure):  # whoever needs a kernel gets the reason from `take`
            self.start_ahead(config)

    def used(self, realm: KernelHolder) -> None:
        """Note that a realm has a kernel and uses it, and have others rest for it."""
        with self._lock:
            self._residents[id(realm)] = realm
            self._residents.move_to_end(id(realm))
            surplus = len(self._residents) - self._most
            tired = list(self._residents.values())[: max(0, surplus)]
        for other in tired:
            if other is not realm:
                other.rest()

    def left(self, realm: KernelHolder) -> None:
        """Note that a realm has no kernel any more."""
        with self._lock:
            self._residents.pop(id(realm), None)

    def close(self) -> None:
        """End the kernels that wait for realms; no other kernel is started."""
        with self._lock:
            self._closed = True
            self._after_fork()
            spares, self._spares = self._spares, []
        for kernel in spares:
            kernel.close()

    def _after_fork(self) -> None:
        """Leave the kernels to the parent; called in the child of a fork."""
        if self._pid != os.getpid():
            self._pid, self._spares, self._starting = os.getpid(), [], 0
            self._residents.clear()
