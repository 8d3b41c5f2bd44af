"""The actors of one engine: as many as the load needs, within bounds."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, ClassVar, Final

import attrs

from interpstack import ConfigurationError, EngineFailure
from interpstack_ray.actor import GuestActor
from interpstack_ray.actors import ActorConfig, ActorWorker
from interpstack_ray.cluster import ClusterConnection
from interpstack_ray.placement import choose
from interpstack_workers import Overloaded, Pool, Worker

__all__ = ["ActorPool", "PoolSize"]

_log = logging.getLogger(__name__)
#: Seconds between two looks at the actors.
_LOOK_SECONDS: Final = 0.05
#: Looks in a row at which every actor has more to do than it can, before another one is started.
_LOOKS_TO_GROW: Final = 4
#: Threads in which realms are opened.
_OPENERS: Final = 16
#: Commands at an actor beside which a cell rather begins elsewhere.
_CROWD: Final = 2
#: Bounds of the time after which a refused cell is to be tried again.
_RETRY_SECONDS: Final = (0.1, 60.0)


@attrs.frozen(kw_only=True)
class PoolSize:
    """The bounds of a pool.

    Attributes:
        least: Actors that are kept once started.
        most: Actors at most; `None` for one per CPU of the cluster.
        cells: Cells that one actor may have at once.
        idle_seconds: Seconds after which an actor without work is ended.
    """

    least: int
    most: int | None
    cells: int
    idle_seconds: float


class ActorPool(Pool):
    """The actors of one engine.

    Args:
        connection: The cluster.
        config: The configuration of actors.
        options: Ray's options of actors.
        size: The bounds of the pool.
        movable: Whether the host has the state of each realm between two cells.
    """

    title: ClassVar[str] = "actor"

    def __init__(
        self,
        connection: ClusterConnection,
        config: ActorConfig,
        options: Mapping[str, Any],
        size: PoolSize,
        *,
        movable: bool,
    ) -> None:
        self._connection, self._config, self._options = connection, config, options
        self._size, self._movable = size, movable
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._actors: list[ActorWorker] = []
        self._crowded = 0
        self._closed = threading.Event()
        self._openers = ThreadPoolExecutor(_OPENERS, "interpstack-ray-opener")
        self._messages = ThreadPoolExecutor(1, "interpstack-ray-messages")
        self._looking: threading.Thread | None = None

    @property
    def actors(self) -> tuple[ActorWorker, ...]:
        """The actors that have not ended."""
        return tuple(self._actors)

    def check_open(self) -> None:
        """Raise an error if the engine was closed, or belongs to another process.

        Raises:
            EngineFailure: It was, or does.
        """
        if self._closed.is_set():
            raise EngineFailure("the engine was closed; make a new stack")
        if os.getpid() != self._pid:
            raise EngineFailure(
                "the engine's connection to Ray is that of the process this one was forked from; "
                "make a new stack"
            )

    # -- placing ---------------------------------------------------------------------------

    def place(self, realm: int, key: str) -> ActorWorker:
        with self._lock:
            self.check_open()
            there = [one for one in self._actors if not one.ended and not one.draining]
            while len(there) < max(1, self._size.least):
                there.append(self._start())
            usable = [one for one in there if one.ready] or there
            loads = {one: len(one.realms) for one in usable}
            chosen = choose(key or str(realm), loads, lambda one: one.name)
            chosen.realms.add(realm)
            return chosen

    def should_move(self, worker: Worker) -> bool:
        return self._better(worker) is not None

    def place_instead(self, realm: int, worker: Worker) -> ActorWorker | None:
        with self._lock:
            other = self._better(worker)
            if other is not None:
                other.realms.add(realm)
            return other

    def _better(self, worker: Worker) -> ActorWorker | None:
        """An actor in which a cell rather begins; `None` if its own is as good."""
        if not isinstance(worker, ActorWorker):
            return None
        must = worker.draining or self._is_full(worker)
        if not (must or worker.load >= _CROWD):
            return None
        others = [
            one
            for one in self._actors
            if one is not worker and one.ready and not (one.draining or self._is_full(one))
        ]
        found = min(others, key=lambda one: (one.load, len(one.cells)), default=None)
        return found if found is not None and (must or 2 * found.load < worker.load) else None

    def _is_full(self, actor: ActorWorker) -> bool:
        return len(actor.cells) >= self._size.cells

    def admit(self, realm: int) -> None:
        with self._lock:
            holder = next((one for one in self._actors if realm in one.realms), None)
            if holder is None:
                return  # it has just ended, and the cell finds another one
            if self._is_full(holder):
                raise Overloaded(*self._refusal(holder))
            holder.begin(realm)

    def _refusal(self, holder: ActorWorker) -> tuple[str, float]:
        """The words for it, and the time after which one of its cells is likely to end."""
        least, most = _RETRY_SECONDS
        seconds = min(most, max(least, holder.mean_age() / self._size.cells))
        return (
            f"every place for a cell is taken: {self._size.cells} (actor_cells) on each of "
            f"{len(self._actors)} actors; the cell was not begun. Try again in {seconds:.1f} s",
            seconds,
        )

    @property
    def threads(self) -> ThreadPoolExecutor | None:
        return None if self._closed.is_set() else self._openers

    # -- life ------------------------------------------------------------------------------

    def _start(self) -> ActorWorker:
        ray = self._connection.open()
        options = {"max_restarts": 0, "max_task_retries": 0, "num_cpus": 1, **self._options}
        try:
            handle = ray.remote(GuestActor).options(**options).remote(self._config.message)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"actor_options: Ray refuses them: {error}") from error
        except Exception as error:
            raise EngineFailure(f"no actor can be started: {error}") from error

        def kill() -> None:
            with suppress(Exception):  # it has ended already, or the cluster has
                ray.kill(handle, no_restart=True)

        actor = ActorWorker(handle, kill, self._config, self._post, self._take_out)
        self._actors.append(actor)
        if self._looking is None:
            self._looking = threading.Thread(
                target=self._look_on, name="interpstack-ray-watcher", daemon=True
            )
            self._looking.start()
        return actor

    def _most(self) -> int:
        if self._size.most is not None:
            return self._size.most
        cpus = self._connection.open().cluster_resources().get("CPU", 1)
        return max(1, self._size.least, int(cpus / (self._options.get("num_cpus", 1) or 1)))

    def _post(self, function: Callable[..., object], *given: Any) -> None:
        with suppress(RuntimeError):  # the engine was closed
            self._messages.submit(function, *given)

    def _take_out(self, ended: ActorWorker) -> None:
        with self._lock:
            if ended in self._actors:
                self._actors.remove(ended)

    def _look_on(self) -> None:
        while not self._closed.wait(_LOOK_SECONDS):
            now = time.monotonic()
            for actor in self.actors:
                actor.check_time(now)
            try:
                self._grow()
            except Exception as error:  # noqa: BLE001 - the actors that are there go on
                _log.warning("no further actor can be started: %s", error)
            self._shrink(now)

    def _grow(self) -> None:
        """Start an actor when, for some time, every one has had more to do than it can."""
        with self._lock:
            there = [one for one in self._actors if not one.draining]
            pressed = [one for one in there if one.load >= _CROWD or self._is_full(one)]
            self._crowded = self._crowded + 1 if pressed and pressed == there else 0
            if self._crowded >= _LOOKS_TO_GROW and len(there) < self._most():
                self._crowded = 0
                self._start()

    def _shrink(self, now: float) -> None:
        """Take actors without work out of use, and end those whose cells have ended."""
        with self._lock:
            there = [one for one in self._actors if one.ready and not one.draining]
            for one in there[max(1, self._size.least) :]:
                idle = not one.busy and now > one.idle_since + self._size.idle_seconds
                if idle and (self._movable or not one.realms):
                    one.drain()
            drained = [one for one in self._actors if one.draining and not (one.cells or one.busy)]
        for one in drained:
            one.end("was not needed any more")

    def close(self) -> None:
        """End all actors. The host holds the state of each realm."""
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            actors = list(self._actors)
        if os.getpid() != self._pid:
            return
        for actor in actors:
            actor.end("was ended with its engine")
        self._messages.shutdown(wait=False)
        self._openers.shutdown(wait=False)
        self._connection.close()
