"""Starting worker processes, and telling how they ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import attrs

from interpstack import ConfigurationError, EngineFailure
from interpstack_process.confine import environment
from interpstack_process.worker import OUT_OF_MEMORY

__all__ = ["WorkerConfig", "default_python", "launch", "told_end"]


@attrs.frozen(kw_only=True)
class WorkerConfig:
    """The configuration and start of worker processes.

    Attributes:
        python: The interpreter to run.
        environment: Variables in addition to those of every worker.
        message: First message to a worker: engine, options and limits.
        max_bytes: Largest frame that is read from it.
        grace_seconds: Seconds that a command may take beyond its own time.
    """

    python: str
    environment: Mapping[str, str]
    message: Mapping[str, Any]
    max_bytes: int
    grace_seconds: float


def launch(config: WorkerConfig, *sockets: int) -> subprocess.Popen[bytes]:
    """Start a worker that inherits these sockets, for commands and for control.

    Raises:
        EngineFailure: The system starts no process.
    """
    command = [config.python, "-s", "-P", "-m", "interpstack_process.worker", *map(str, sockets)]
    try:
        return subprocess.Popen(  # noqa: S603 - the interpreter that runs this, or the host's choice
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(config.environment),
            cwd="/",
            pass_fds=sockets,
            start_new_session=True,  # Ctrl-C is for the host, and a whole group can be killed
        )
    except OSError as error:
        raise EngineFailure(f"no worker process can be started: {error}") from error


def default_python() -> str:
    """The interpreter that runs this.

    Raises:
        ConfigurationError: The host's program is not a plain Python.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise ConfigurationError(
            "worker processes need a Python interpreter, and this program is not one; pass the "
            "path of one as the engine's option 'worker_python'"
        )
    return sys.executable


def told_end(status: int) -> str:
    """The end of a process, in words."""
    if status == OUT_OF_MEMORY:
        return "ran out of memory (worker_memory_bytes)"
    if status >= 0:
        return f"ended with status {status}"
    if -status == signal.SIGXCPU:
        return "used up its CPU time (worker_cpu_seconds)"
    if -status == signal.SIGALRM:
        return "hung and ended itself"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
