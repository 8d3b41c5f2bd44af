"""The engine that runs another engine in actors of a Ray cluster."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from interpstack import (
    BridgeSet,
    Capability,
    ConfigurationError,
    Image,
    Isolation,
    Limits,
    Realm,
)
from interpstack_ray.actors import ActorConfig
from interpstack_ray.cluster import ClusterConnection
from interpstack_ray.pool import ActorPool, PoolSize
from interpstack_ray.realm import ActorRealm
from interpstack_workers import OuterEngine, Residence, SavedRealm
from interpstack_workers.outer import check_flag, check_number

__all__ = ["RayEngine"]

#: Options of actors that the pool settles.
_SETTLED: Final = (
    "concurrency_groups",
    "get_if_exists",
    "lifetime",
    "max_concurrency",
    "max_restarts",
    "max_task_retries",
    "name",
)


class RayEngine(OuterEngine):
    """Runs guests of another engine in actors of a Ray cluster; selected as `ray:NAME`.

    Args:
        ray_init: Keyword arguments of `ray.init`, such as `address`, `namespace` and `runtime_env`,
            for a process that is not connected to a cluster yet.
        actor_options: Ray's options of actors, such as `num_cpus`, `resources`,
            `scheduling_strategy` and `runtime_env`.
        min_actors: Actors that are started with the first cell, and always kept.
        max_actors: Largest number of actors; `None` for as many as the cluster has CPUs for.
        actor_cells: Cells that one actor may have at once; others are refused with `Overloaded`.
        idle_seconds: Seconds after which an actor without work is ended.
        start_seconds: Seconds within which an actor must be ready.
        grace_seconds: Seconds that a command may take beyond its CPU time before its actor is
            killed.
        keep_state: Whether each session's state is handed to the host after each cell, so that the
            session outlives its actor.
        actor_memory_bytes: Private memory that one actor may hold, all its realms together, on
            Linux; `None` for no limit.
        actor_message_bytes: Largest message that is read from an actor.
        options: All other options go to the inner engine; plain JSON values.

    Raises:
        ConfigurationError: An option is wrong, or no engine is named.
    """

    name: ClassVar[str] = "ray"
    isolation: ClassVar[Isolation] = Isolation.REMOTE
    worker_title: ClassVar[str] = "actor"
    nests: ClassVar[bool] = True

    def __init__(
        self,
        *,
        ray_init: Mapping[str, Any] | None = None,
        actor_options: Mapping[str, Any] | None = None,
        min_actors: int = 1,
        max_actors: int | None = None,
        actor_cells: int = 256,
        idle_seconds: float = 60.0,
        start_seconds: float = 120.0,
        grace_seconds: float = 10.0,
        keep_state: bool = True,
        actor_memory_bytes: int | None = 2 * 2**30,
        actor_message_bytes: int = 256 * 2**20,
        **options: Any,
    ) -> None:
        inner = self.named_inner()
        _check_counts(min_actors, max_actors, actor_cells)
        _check_seconds(idle=idle_seconds, start=start_seconds, grace=grace_seconds)
        _check_bytes(actor_message_bytes, actor_memory_bytes)
        check_flag("keep_state", keep_state)
        config = ActorConfig(
            message={
                "engine": self.reference(),
                "options": self.inner_options({**inner.worker_options, **options}),
                "keep": keep_state,
                "memory_bytes": actor_memory_bytes,
            },
            start_seconds=start_seconds,
            grace_seconds=grace_seconds,
            max_bytes=actor_message_bytes,
        )
        self._repeats = keep_state and self.repeats_cells()
        self.pool = ActorPool(
            ClusterConnection(_mapping("ray_init", ray_init)),
            config,
            _actor_options(actor_options),
            PoolSize(
                least=min_actors, most=max_actors, cells=actor_cells, idle_seconds=idle_seconds
            ),
            movable=keep_state and Capability.IMAGES in inner.capabilities,
        )
        #: Ends the actors when the engine is garbage-collected, or at the end of the program.
        self._end = weakref.finalize(self, self.pool.close)

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        self.pool.check_open()
        saved = SavedRealm(image=image)
        residence = Residence(self, self.pool, limits, bridges, saved, repeats=self._repeats)
        if image is not None:  # else the first cell finds an actor
            residence.attach()
        return ActorRealm(residence)

    def close(self) -> None:
        self._end()


def _mapping(name: str, given: Any) -> dict[str, Any]:
    if not (given is None or isinstance(given, Mapping)):
        raise ConfigurationError(f"{name} takes a mapping of Ray's options; got {given!r:.60}")
    return dict(given or {})


def _actor_options(given: Any) -> dict[str, Any]:
    options = _mapping("actor_options", given)
    if settled := sorted(set(options) & set(_SETTLED)):
        raise ConfigurationError(
            f"actor_options: {', '.join(settled)} cannot be set, because the engine replaces its "
            "actors and talks to them itself; set resources, scheduling and runtime_env"
        )
    return options


def _check_counts(least: Any, most: Any, cells: Any) -> None:
    check_number("min_actors", least, 1)
    check_number("max_actors", least if most is None else most, least)
    check_number("actor_cells", cells, 1)


def _check_seconds(**given: Any) -> None:
    for name, seconds in given.items():
        check_number(f"{name}_seconds", seconds, 0.1)


def _check_bytes(message: Any, memory: Any) -> None:
    check_number("actor_message_bytes", message, 2**20)
    if memory is not None:
        check_number("actor_memory_bytes", memory, 2**26)
