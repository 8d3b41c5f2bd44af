"""The engine that runs another engine in worker processes."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from interpstack import (
    BridgeSet,
    ConfigurationError,
    Engine,
    Image,
    Isolation,
    Limits,
    Realm,
)
from interpstack_process.confine import WorkerLimits
from interpstack_process.processes.launch import WorkerConfig, default_python
from interpstack_process.processes.pool import WorkerPool
from interpstack_workers import OuterEngine, Residence, SavedRealm, WorkerRealm
from interpstack_workers.outer import check_flag, check_number

__all__ = ["ProcessEngine"]


class ProcessEngine(OuterEngine):
    """Runs guests of another engine in worker processes; selected as `process:NAME`.

    Args:
        workers: Largest number of worker processes; `None` for one per core.
        grace_seconds: Seconds that a command may take beyond its CPU time before its worker is
            killed.
        keep_state: Whether each session's state is handed to the host after each cell, so that the
            session outlives its worker. Otherwise, cells cost less, and a dead worker's sessions
            start again from nothing.
        worker_memory_bytes: Private writable memory of one worker with all its realms. For an
            engine whose realms reserve far more than they use, only the memory in use counts.
        worker_cpu_seconds: CPU seconds after which a worker is replaced; `None` for no limit.
        worker_files: Open files of one worker.
        worker_environment: Environment variables for workers, which otherwise inherit only the
            host's variables that they need to start.
        worker_message_bytes: Largest message that is read from a worker.
        worker_python: The Python interpreter that runs workers; `None` for the host's.
        options: All other options go to the inner engine; plain JSON values.

    Raises:
        ConfigurationError: An option is wrong, or no engine is named.
    """

    name: ClassVar[str] = "process"
    isolation: ClassVar[Isolation] = Isolation.PROCESS
    worker_title: ClassVar[str] = "worker process"

    def __init__(
        self,
        *,
        workers: int | None = None,
        grace_seconds: float = 5.0,
        keep_state: bool = True,
        worker_memory_bytes: int | None = 2 * 2**30,
        worker_cpu_seconds: int | None = None,
        worker_files: int | None = 256,
        worker_environment: Mapping[str, str] | None = None,
        worker_message_bytes: int = 256 * 2**20,
        worker_python: str | None = None,
        **options: Any,
    ) -> None:
        inner = self.named_inner()
        check_number("workers", 1 if workers is None else workers, 1)
        check_number("grace_seconds", grace_seconds, 0.1)
        check_number("worker_message_bytes", worker_message_bytes, 2**20)
        check_flag("keep_state", keep_state)
        limits = WorkerLimits(
            memory_bytes=worker_memory_bytes, cpu_seconds=worker_cpu_seconds, files=worker_files
        )
        config = WorkerConfig(
            python=_python(worker_python),
            environment=_environment(worker_environment),
            message={
                "engine": self.reference(),
                "options": self.inner_options({**inner.worker_options, **options}),
                "limits": attrs.asdict(limits),
                "counts_held": inner.reserves_memory,
                "keep": keep_state,
            },
            max_bytes=worker_message_bytes,
            grace_seconds=grace_seconds,
        )
        self._repeats = keep_state and self.repeats_cells()
        self.pool = WorkerPool(config, workers or os.cpu_count() or 1)
        #: Ends the workers when the engine is garbage-collected, or at the end of the program.
        self._end = weakref.finalize(self, self.pool.close)

    @classmethod
    def refusal(cls, inner: type[Engine]) -> str:
        return inner.not_in_workers

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        self.pool.check_open()
        saved = SavedRealm(image=image)
        residence = Residence(self, self.pool, limits, bridges, saved, repeats=self._repeats)
        if image is not None:  # else the first cell finds a worker, and no guest thread waits here
            residence.attach()
        return WorkerRealm(residence)

    def close(self) -> None:
        self._end()


def _python(given: Any) -> str:
    """The Python interpreter that runs workers."""
    if not (given is None or (isinstance(given, str) and given)):
        raise ConfigurationError(
            "worker_python takes the path of a Python interpreter, or None for the host's; "
            f"got {given!r}"
        )
    return given or default_python()


def _environment(given: Mapping[str, str] | None) -> dict[str, str]:
    variables = {} if given is None else given
    if not isinstance(variables, Mapping) or not all(
        isinstance(text, str) for item in variables.items() for text in item
    ):
        raise ConfigurationError(
            "worker_environment takes a mapping of names to values, all of them strings; got "
            f"{given!r:.60}"
        )
    return dict(variables)
