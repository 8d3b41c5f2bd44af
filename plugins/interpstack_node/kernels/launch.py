"""Starting kernel processes, ending them, and telling how they ended."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import attrs

from interpstack_core import EngineFailure
from interpstack_node.kernels.programs import Programs, program
from interpstack_node.kernels.sandbox import Sandbox, child_of, pidfd, wrapped

__all__ = ["KernelConfig", "Launched", "error_output", "launch", "told_end"]

#: Seconds to wait for the end of a process that was killed.
_END_SECONDS: Final = 10.0
#: Bytes of error output that are looked at when a kernel has ended.
_ERROR_BYTES: Final = 65_536
_SHOWN_CHARS: Final = 300
_SIGNALLED: Final = 128
#: Descriptors of a kernel that may open files or connections.
_DESCRIPTORS: Final = 256
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
        readable: Files and folders that code may read with `node:fs`.
        scratch: Whether a kernel has a temporary folder to write.
        network: Whether code has the host's network.
        allows_network_by_flag: Whether this Node has an option that grants the network.
        sandbox: What is around the process.
        programs: What kernels run from their start.
    """

    node: str
    memory_bytes: int | None
    most_bytes: int
    grace_seconds: float
    idle_seconds: float | None
    readable: tuple[str, ...] = ()
    scratch: bool = False
    network: bool = False
    allows_network_by_flag: bool = False
    sandbox: Sandbox = Sandbox.NONE
    programs: Programs = attrs.Factory(Programs)

    @property
    def descriptors(self) -> int:
        """Descriptors that a kernel may have once its guest's context is ready."""
        return _DESCRIPTORS if self.network or self.scratch or self.readable else 0


class Launched:
    """A process that was started, perhaps inside the program of a sandbox.

    Args:
        process: The process that the host started and waits for.
        pid: Number of the kernel's own process.
        scratch: A folder that is removed when the process has ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], pid: int, scratch: str | None) -> None:
        self.process = process
        self.pid = pid
        self._scratch = scratch
        # The number of a process inside a sandbox may mean another one once it has ended.
        self._inner = pidfd(pid) if pid != process.pid else None

    def signal(self, number: int) -> None:
        """Send a signal to the kernel, if it has not ended."""
        with suppress(ProcessLookupError):
            if self._inner is not None:
                signal.pidfd_send_signal(self._inner, number)
            else:
                self.process.send_signal(number)

    def end(self, connection: socket.socket, host: int) -> None:
        """End the kernel and free its resources in the host.

        Args:
            connection: The host's end.
            host: The process that started it; in a child of that one, the kernel goes on.
        """
        connection.close()
        if self.process.stderr is not None:
            self.process.stderr.close()
        if host != os.getpid():
            self.process.poll()  # after a fork it is the parent's, and counts as ended here
            return
        self.signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        if self._inner is not None:
            os.close(self._inner)
            self._inner = None
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)


def launch(config: KernelConfig, connection: int) -> Launched:
    """Start a kernel that inherits this socket.

    Raises:
        EngineFailure: The system starts no process.
    """
    scratch = tempfile.mkdtemp(prefix="interpstack-node-") if config.scratch else None
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    if scratch is not None:
        environment["TMPDIR"] = scratch
    numbers = f"{connection}, {config.programs.descriptor()}"
    boot = f"{program('boot.js').rstrip()}(require, process, Buffer, {numbers})"
    command = [config.node, *_flags(config, scratch), "-e", boot]
    try:
        return _started(config, command, connection, environment, scratch)
    except OSError as error:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
        raise EngineFailure(f"no kernel process can be started: {error}") from error


def _flags(config: KernelConfig, scratch: str | None) -> list[str]:
    """Options of Node."""
    flags = [
        "--permission",  # no files, programs, threads, addons
        "--disallow-code-generation-from-strings",  # in the kernel's own realm; the guest's may
        "--frozen-intrinsics",  # of that realm, too: some of its errors reach the guest
        "--experimental-vm-modules",
        "--expose-internals",  # for Node's watchdog of SIGINT; no module of them is for guests
        "--no-addons",
        "--no-warnings",
        "--unhandled-rejections=none",
    ]
    if config.memory_bytes is not None:
        flags.append(f"--max-old-space-size={(config.memory_bytes + _HEAP_ROOM) // 2**20}")
    if config.allows_network_by_flag:
        flags.append("--allow-net")
    folders = () if scratch is None else (scratch,)
    for path in (*config.readable, *folders):
        flags += [f"--allow-fs-read={inner}" for inner in _with_content(path)]
    for path in folders:
        flags += [f"--allow-fs-write={inner}" for inner in _with_content(path)]
    return flags


def _with_content(path: str) -> Iterator[str]:
    """A path as Node's options name it; for a folder, also its content."""
    yield path
    if os.path.isdir(path):  # noqa: PTH112 - plain text
        yield f"{path.rstrip('/')}/*"


def _started(
    config: KernelConfig,
    command: Sequence[str],
    connection: int,
    environment: Mapping[str, str],
    scratch: str | None,
) -> Launched:
    told = theirs = None
    passed = (connection, config.programs.descriptor())
    if config.sandbox is Sandbox.BUBBLEWRAP:
        told, theirs = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - the Node that was found
            wrapped(
                config.sandbox,
                command,
                network=config.network,
                readable=config.readable,
                writable=() if scratch is None else (scratch,),
                info=theirs,
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=dict(environment) if config.sandbox is Sandbox.NONE else _found_by(environment),
            cwd="/",
            pass_fds=passed if theirs is None else (*passed, theirs),
            start_new_session=True,  # Ctrl-C is for the host
        )
    except BaseException:
        for number in (told, theirs):
            if number is not None:
                os.close(number)
        raise
    if told is None or theirs is None:
        return Launched(process, process.pid, scratch)
    os.close(theirs)
    return Launched(process, child_of(told) or process.pid, scratch)


def _found_by(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the `PATH` that finds the sandbox's own program."""
    return {**environment, "PATH": os.environ.get("PATH", os.defpath)}


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
    if status > _SIGNALLED:
        status = _SIGNALLED - status  # as the program of a sandbox, or a shell, tells a signal
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
