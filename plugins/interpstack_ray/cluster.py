"""The connection of this process to a Ray cluster; a local one is started where there is none."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from interpstack import EngineFailure

__all__ = ["ClusterConnection"]

#: Options of `ray.init` unless the host gives others. Output of actors may be a guest's.
_DEFAULTS: Final[Mapping[str, Any]] = {
    "include_dashboard": False,
    "log_to_driver": False,
    "configure_logging": False,
}

_lock = threading.Lock()
#: Connections of this process that Ray was started for; the last one shuts it down.
_users: set[ClusterConnection] = set()
#: The kernel ends the processes of a local cluster with the thread that started it.
_threads: dict[int, ThreadPoolExecutor] = {}


class ClusterConnection:
    """One engine's use of the cluster.

    Args:
        options: Keyword arguments of `ray.init`, for a process that is not connected yet.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = {**_DEFAULTS, **options}

    def open(self) -> Any:
        """Connect if need be, and return the module `ray`.

        Raises:
            EngineFailure: There is no cluster, and none can be started.
        """
        import ray

        with _lock:
            if not ray.is_initialized():
                _run(lambda: _connect(ray.init, self._options))
                _users.clear()
                _users.add(self)
            elif _users:  # else the host has connected, and disconnects
                _users.add(self)
        return ray

    def close(self) -> None:
        """Disconnect if this was the last engine that was connected through here."""
        with _lock:
            if self not in _users:
                return
            _users.discard(self)
            if not _users:
                import ray

                _run(ray.shutdown)


def _connect(init: Callable[..., object], options: Mapping[str, Any]) -> None:
    try:
        init(**options)
    except (ConnectionError, RuntimeError, ValueError, TypeError) as error:
        raise EngineFailure(f"no Ray cluster can be used: {error}") from error


def _run(function: Callable[[], object]) -> None:
    """Run a function in the thread that lives as long as this process."""
    pid = os.getpid()
    if pid not in _threads:
        _threads[pid] = ThreadPoolExecutor(1, "interpstack-ray-cluster")
    _threads[pid].submit(function).result()
