"""The worker processes of one engine."""

from __future__ import annotations

import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

from interpstack_core import EngineFailure
from interpstack_process.processes.launch import WorkerConfig
from interpstack_process.processes.workers import WorkerProcess

__all__ = ["WorkerPool"]

#: All pools of this process; a fork must not share their workers.
_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


class WorkerPool:
    """A bounded number of workers, started when they are needed, replaced when they end.

    Args:
        config: How workers are started.
        size: Workers at most.
    """

    def __init__(self, config: WorkerConfig, size: int) -> None:
        self._config = config
        self._size = size
        self._closed = False
        # A finalizer may run in the middle of anything, also in a thread that holds this.
        self._lock = threading.RLock()
        self._workers: list[WorkerProcess] = []
        #: Threads that wait for workers in place of the guest threads; `None` once closed.
        self.threads: ThreadPoolExecutor | None = self._new_threads()
        _pools.add(self)

    def _new_threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._size, "interpstack-process-waiter")

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """The running workers."""
        return tuple(self._workers)

    def place(self, realm: int) -> WorkerProcess:
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

    def place_idle(self, realm: int, busy: WorkerProcess) -> WorkerProcess | None:
        """A worker with nothing to do, instead of a busy one; `None` if there is none."""
        with self._lock:
            for worker in self._workers:
                if worker is not busy and worker.ready and not worker.busy:
                    worker.realms.add(realm)
                    return worker
        return None

    def close(self) -> None:
        """End all workers. Their data is lost; the host holds the state of each realm."""
        with self._lock:
            self._closed = True
            workers, self._workers = self._workers, []
            threads, self.threads = self.threads, None
        if threads is not None:
            threads.shutdown(wait=False)
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
        self.threads = None if self._closed else self._new_threads()
        for worker in workers:
            worker.disown()


def _forget_all() -> None:
    for pool in list(_pools):
        pool.forget()


os.register_at_fork(after_in_child=_forget_all)
