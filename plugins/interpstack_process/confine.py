"""Limits of a worker on resources of the machine, and its environment variables."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import ConfigurationError

__all__ = ["WorkerLimits", "confine", "environment"]

#: The host's variables that a worker inherits: the paths of its caches and variables that its
#: Python needs to start. None of them is secret.
_PASSED: Final = ("HOME", "INTERPSTACK_CACHE_DIR", "LD_LIBRARY_PATH", "TZ", "XDG_CACHE_HOME")


def _whole(least: int) -> Any:
    def validate(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is not None and (type(value) is not int or value < least):
            raise ConfigurationError(
                f"worker_{attribute.name} takes a whole number of at least {least}, or None "
                f"for no limit; got {value!r}"
            )

    return validate


@attrs.frozen(kw_only=True)
class WorkerLimits:
    """Resource limits of one worker process, all of its realms together.

    Attributes:
        memory_bytes: Private writable memory (`RLIMIT_DATA`, or what the process holds of it).
        cpu_seconds: CPU time of its whole life (`RLIMIT_CPU`); it is replaced then.
        files: Open files (`RLIMIT_NOFILE`).
    """

    memory_bytes: int | None = attrs.field(default=2 * 2**30, validator=_whole(2**26))
    cpu_seconds: int | None = attrs.field(default=None, validator=_whole(1))
    files: int | None = attrs.field(default=256, validator=_whole(32))


def confine(limits: Mapping[str, int | None]) -> None:
    """Put limits on this process for good. No core is ever dumped: it would hold guests' data."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: limits["memory_bytes"],
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_NOFILE: limits["files"],
    }
    for kind, value in wanted.items():
        if value is None:
            continue
        hard = resource.getrlimit(kind)[1]
        # The kernel warns at the soft limit of CPU time, which tells why the process ended.
        most = value + 1 if kind == resource.RLIMIT_CPU else value
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (min(value, most), most))


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker: only the host's variables that a worker needs to start."""
    kept = {name: os.environ[name] for name in _PASSED if name in os.environ}
    # The worker must find the same packages as the host, however the host's path was set.
    path = [entry or str(Path.cwd()) for entry in sys.path if os.pathsep not in entry]
    return {**kept, **given, "PYTHONPATH": os.pathsep.join(path)}
