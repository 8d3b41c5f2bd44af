"""Starting kernel processes, ending them, and telling how they ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Final

import attrs

from interpstack_core import EngineFailure

__all__ = ["KernelConfig", "end", "error_output", "launch", "program", "told_end"]

#: Seconds to wait for the end of a process that was killed.
_END_SECONDS: Final = 10.0
#: Bytes of error output that are looked at when a kernel has ended.
_ERROR_BYTES: Final = 65_536
_SHOWN_CHARS: Final = 300
#: Room above the memory limit before V8's own limit, at which V8 ends the process: the kernel's own
#: data, garbage, and the text of exported values must fit in.
_HEAP_ROOM: Final = 256 * 2**20
#: Variables of the host that kernels inherit: language and time zone, as guests of engines inside
#: this process have them.
_PASSED: Final = ("LANG", "LC_ALL", "TZ")


@attrs.frozen(kw_only=True)
class KernelConfig:
    """The start of kernels, and their limits.

    Attributes:
        node: Path of Node.
        memory_bytes: Memory limit of the guest; `None` for V8's own.
        most_bytes: Bytes of one answer.
        grace_seconds: Seconds that a guest has to stop once its time is up.
        idle_seconds: Seconds without a command after which a kernel ends itself; `None` for never.
    """

    node: str
    memory_bytes: int | None
    most_bytes: int
    grace_seconds: float
    idle_seconds: float | None


def launch(config: KernelConfig, connection: int) -> subprocess.Popen[bytes]:
    """Start a kernel that inherits this socket.

    Raises:
        EngineFailure: The system starts no process.
    """
    flags = [
        "--permission",  # no files, programs, threads, addons
        "--disallow-code-generation-from-strings",  # in the kernel's own realm; the guest's may
        "--frozen-intrinsics",  # of that realm, too: some of its errors reach the guest
        "--experimental-vm-modules",
        "--no-addons",
        "--no-warnings",
        "--unhandled-rejections=none",
    ]
    if config.memory_bytes is not None:
        flags.append(f"--max-old-space-size={(config.memory_bytes + _HEAP_ROOM) // 2**20}")
    boot = f"{program('boot.js').rstrip()}(require, process, Buffer, {connection})"
    try:
        return subprocess.Popen(  # noqa: S603 - the Node that was found
            [config.node, *flags, "-e", boot],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={name: os.environ[name] for name in _PASSED if name in os.environ},
            cwd="/",
            pass_fds=(connection,),
            start_new_session=True,  # Ctrl-C is for the host
        )
    except OSError as error:
        raise EngineFailure(f"no kernel process can be started: {error}") from error


def end(process: subprocess.Popen[bytes], connection: socket.socket, host: int) -> None:
    """End a kernel and free what the host has of it.

    Args:
        process: The process.
        connection: The host's end.
        host: The process that started it; in a child of that one, the kernel goes on.
    """
    connection.close()
    if process.stderr is not None:
        process.stderr.close()
    if host != os.getpid():
        process.poll()  # after a fork it is the parent's, and counts as ended here
        return
    with suppress(ProcessLookupError):
        process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)


def error_output(process: subprocess.Popen[bytes]) -> bytes:
    """Bytes that a kernel has written to its error output, as far as they are there."""
    if process.stderr is None:
        return b""
    number = process.stderr.fileno()
    os.set_blocking(number, False)
    try:
        return os.read(number, _ERROR_BYTES)
    except OSError:
        return b""


def told_end(status: int | None, output: bytes, started: bool) -> str:
    """The end of a process, in words."""
    shown = "" if started else output.decode("utf-8", "replace").strip()[:_SHOWN_CHARS]
    because = f": {shown}" if shown else ""
    if status is None:
        return f"closed its connection{because}"
    if status >= 0:
        return f"ended with status {status}{because}"
    if -status == signal.SIGINT:
        return "ended when its guest was to stop"
    if -status == getattr(signal, "SIGXCPU", 0):
        return "used up its computing time"
    try:
        return f"was ended by {signal.Signals(-status).name}{because}"
    except ValueError:
        return f"was ended by signal {-status}{because}"


@cache
def program(name: str) -> str:
    """One of the JavaScript files that make up a kernel."""
    return (files("interpstack_node") / "kernel" / name).read_text("utf-8")
