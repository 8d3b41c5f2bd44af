"""Processes of commands: their output bounded, their whole group killed at the end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs

__all__ = ["ProcessOutput", "run_process"]

_STREAMS: Final = {1: "stdout", 2: "stderr"}
#: Seconds in which the streams of a killed group are closed.
_CLOSE_SECONDS: Final = 5.0


@attrs.frozen(kw_only=True)
class ProcessOutput:
    """The end of a process.

    Attributes:
        code: Its exit code; below zero the number of the signal that ended it.
        stdout: The beginning of its output.
        stderr: The beginning of its messages.
        truncated: Names of the streams that were longer.
    """

    code: int
    stdout: bytes
    stderr: bytes
    truncated: tuple[str, ...] = ()


async def run_process(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    seconds: float,
    output_bytes: int,
) -> ProcessOutput:
    """Run a program without a shell, in a process group of its own.

    When the program has ended, was cancelled or took too long, all that is left of its group is
    killed. A process that left the group is not found.

    Args:
        command: The path of the program, and its arguments.
        cwd: The folder in which it runs.
        env: Its whole environment.
        stdin: Its input; `None` for none.
        seconds: How long it may run.
        output_bytes: Bytes of each stream that are kept; the rest is read and discarded.

    Raises:
        TimeoutError: It took too long, and was killed.
        OSError: It cannot be started.
    """
    spawning = asyncio.ensure_future(_spawn(command, cwd, env, stdin is not None, output_bytes))
    try:
        transport, output = await asyncio.shield(spawning)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _end(*await spawning)
        raise
    try:
        _feed(transport, stdin)
        async with asyncio.timeout(seconds):
            await asyncio.shield(output.exited)
    finally:
        await _end(transport, output)
    return ProcessOutput(
        code=transport.get_returncode() or 0,
        stdout=bytes(output.kept[1]),
        stderr=bytes(output.kept[2]),
        truncated=tuple(name for fd, name in _STREAMS.items() if fd in output.cut),
    )


class _Output(asyncio.SubprocessProtocol):
    """The output of a process, as far as it is kept."""

    def __init__(self, most: int) -> None:
        loop = asyncio.get_running_loop()
        self.kept = {1: bytearray(), 2: bytearray()}
        self.cut: set[int] = set()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._most = most

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        room = self._most - len(self.kept[fd])
        if len(data) > room:
            self.cut.add(fd)
        self.kept[fd] += data[:room]

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


async def _spawn(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], feeding: bool, most: int
) -> tuple[asyncio.SubprocessTransport, _Output]:
    return await asyncio.get_running_loop().subprocess_exec(
        lambda: _Output(most),
        *command,
        stdin=asyncio.subprocess.PIPE if feeding else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=dict(env),
        start_new_session=True,
    )


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes | None) -> None:
    if stdin is not None:
        pipe: Any = transport.get_pipe_transport(0)
        pipe.write(stdin)
        pipe.write_eof()


async def _end(transport: asyncio.SubprocessTransport, output: _Output) -> None:
    """Kill what is left of the group, and read what it wrote before."""
    with suppress(ProcessLookupError, PermissionError):  # all of it has ended
        os.killpg(transport.get_pid(), signal.SIGKILL)
    await asyncio.wait({output.closed}, timeout=_CLOSE_SECONDS)
    transport.close()
