"""The worker processes of one engine."""

from __future__ import annotations

import os
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Final

from interpstack import EngineFailure
from interpstack_process.processes.launch import WorkerConfig
from interpstack_process.processes.workers import WorkerProcess
from interpstack_workers import Pool, Worker

__all__ = ["WorkerPool"]

#: Seconds a cell waits for its own worker before it looks for one with nothing to do.
_PATIENCE_SECONDS: Final = 0.02
#: All pools of this process; a fork must not share their workers.
_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


class WorkerPool(Pool):
    """A bounded number of workers, started when they are needed, replaced when they end.

    Args:
        config: How workers are started.
        size: Workers at most.
    """

    title: ClassVar[str] = "worker process"

    def __init__(self, config: WorkerConfig, size: int) -> None:
        self._config = config
        self._size = size
        self._closed = False
        # A finalizer may run in the middle of anything, also in a thread that holds this.
        self._lock = threading.RLock()
        self._workers: list[WorkerProcess] = []
        self._openers: ThreadPoolExecutor | None = self._threads()
        _pools.add(self)

    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._size, "interpstack-process-opener")

    @property
    def threads(self) -> ThreadPoolExecutor | None:
        return self._openers

    def stays(self, worker: Worker) -> bool:
        return worker.ready and not self._is_idle_beside(worker)

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """The running workers."""
        return tuple(self._workers)

    def place(self, realm: int, key: str = "") -> WorkerProcess:
        """The worker for a new realm: the one with the fewest.

        Raises:
            EngineFailure: The engine was closed, or no process can be started.
        """
        with self._lock:
            self.check_open()
            # One that has just ended may not have been taken out yet.
            self._workers = [worker for worker in self._workers if not worker.ended]
            loads = [len(worker.realms) for worker in self._workers]
            if len(loads) < self._size and 0 not in loads:
                self._workers.append(WorkerProcess(self._config, self._replace))
            worker = min(self._workers, key=lambda worker: (len(worker.realms), worker.busy))
            worker.realms.add(realm)
            return worker

    def check_open(self) -> None:
        """Raise an error if the engine was closed.

        Raises:
            EngineFailure: It was.
        """
        if self._closed:
            raise EngineFailure("the engine was closed; make a new stack")

    def wait_for_turn(self, worker: Worker) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        while worker.busy and time.monotonic() < until:
            time.sleep(_PATIENCE_SECONDS / 10)

    def should_move(self, worker: Worker) -> bool:
        return worker.busy

    def _is_idle_beside(self, worker: Worker) -> bool:
        """Whether a worker is busy while another one has nothing to do."""
        return worker.busy and any(other.ready and not other.busy for other in self._workers)

    def place_instead(self, realm: int, worker: Worker) -> WorkerProcess | None:
        """A worker with nothing to do, instead of a busy one; `None` if there is none."""
        with self._lock:
            for other in self._workers:
                if other is not worker and other.ready and not other.busy:
                    other.realms.add(realm)
                    return other
        return None

    def close(self) -> None:
        """End all workers. Their data is lost; the host holds the state of each realm."""
        with self._lock:
            self._closed = True
            workers, self._workers = self._workers, []
            openers, self._openers = self._openers, None
        if openers is not None:
            openers.shutdown(wait=False)
        for worker in workers:
            worker.end("was ended with its engine")
            worker.join()

    def _replace(self, ended: WorkerProcess) -> None:
        """Take a worker out, and start the next one if it did well for some time."""
        with self._lock:
            if ended not in self._workers:
                return
            self._workers.remove(ended)
            if ended.ready and not self._closed:
                self._workers.append(WorkerProcess(self._config, self._replace))

    def forget(self) -> None:
        """After a fork, in the child: these workers are the parent's."""
        workers, self._workers, self._lock = self._workers, [], threading.RLock()
        if not self._closed:
            self._openers = self._threads()
        for worker in workers:
            worker.disown()


def _forget_all() -> None:
    for pool in list(_pools):
        pool.forget()


os.register_at_fork(after_in_child=_forget_all)
