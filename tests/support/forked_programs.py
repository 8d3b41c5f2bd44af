"""Programs in processes of their own, forked from one that has imported what agents need.

To import LangChain takes two seconds of computing, much longer than most programs of the tests. So
one process of the run imports it, and each program is a fork of that process. Where the system
cannot fork, a program is a new process of Python.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Any

__all__ = ["Program"]

#: Imports no engine: nothing that programs are tested with has begun before the fork.
_IMPORTED = (
    "fake_models",
    "interpstack_langchain.middleware",
    "langchain.agents",
    "langgraph.checkpoint.sqlite.aio",
    "stores",
)
_CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
_context: Any = multiprocessing.get_context("forkserver" if _CAN_FORK else "spawn")
if _CAN_FORK:
    _context.set_forkserver_preload([*_IMPORTED])


class Program:
    """A program that runs in a process of its own.

    Args:
        path: The program.
        args: Its arguments.

    Attributes:
        stdin: Writes to its input.
        stdout: Reads its output.
        stderr: Reads its errors.
    """

    def __init__(self, path: Path, *args: str) -> None:
        ends = [Pipe(duplex=False) for _ in range(3)]
        (reads, self._in), (self._out, writes), (self._err, fails) = ends
        given = [str(path), *args], reads, writes, fails
        self._process = _context.Process(target=_run, args=given, daemon=True)
        self._process.start()
        for end in (reads, writes, fails):
            end.close()
        self.stdin: IO[str] = _file(self._in, "w")
        self.stdout: IO[str] = _file(self._out, "r")
        self.stderr: IO[str] = _file(self._err, "r")

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for the end, at most these seconds; the exit status, or `None` if it runs on."""
        self._process.join(seconds)
        status: int | None = self._process.exitcode
        return status

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process, and close its files."""
        self.kill()
        self._process.join()
        for file in (self.stdin, self.stdout, self.stderr):
            file.close()


def _file(end: Connection, mode: str) -> IO[str]:
    """The file of one end of a pipe, which it takes over."""
    number = os.dup(end.fileno())
    end.close()
    return os.fdopen(number, mode, encoding="utf-8")


def _run(argv: list[str], *ends: Connection) -> None:
    """Run a program with these ends of pipes as its standard files."""
    for number, end in enumerate(ends):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8")
    sys.argv = argv
    runpy.run_path(argv[0], run_name="__main__")
    sys.stdout.flush()
