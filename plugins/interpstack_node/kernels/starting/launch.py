"""The start of kernel processes: their command, their environment and what they inherit."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Final

import attrs

from interpstack import EngineFailure
from interpstack_node.kernels.programs import Programs, program
from interpstack_node.kernels.starting.held import HeldStart
from interpstack_node.kernels.starting.launched import Launched
from interpstack_node.kernels.starting.lifeline import Lifeline
from interpstack_node.kernels.starting.sandbox import Sandbox, end_group, wrapped

__all__ = ["KernelConfig", "launch"]

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
        flags: More options of Node.
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
    flags: tuple[str, ...] = ()
    programs: Programs = attrs.Factory(Programs)

    @property
    def descriptors(self) -> int:
        """Descriptors that a kernel may have once its guest's context is ready."""
        return _DESCRIPTORS if self.network or self.scratch or self.readable else 0


def launch(config: KernelConfig, connection: int) -> Launched:
    """Start a kernel that inherits this socket.

    Raises:
        EngineFailure: The system starts no process.
    """
    lifeline, scratch = Lifeline(), None
    try:
        if config.scratch:
            scratch = tempfile.mkdtemp(prefix="interpstack-node-")
        process, pid = _started(config, connection, lifeline, scratch)
    except BaseException as error:
        lifeline.close()
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
        if isinstance(error, OSError):
            raise EngineFailure(f"no kernel process can be started: {error}") from error
        raise
    return Launched(process, pid, lifeline, scratch)


def _started(
    config: KernelConfig, connection: int, lifeline: Lifeline, scratch: str | None
) -> tuple[subprocess.Popen[bytes], int]:
    """The process that was started, and the number of the kernel's own.

    Raises:
        OSError: The system starts none.
    """
    with closing(HeldStart()) if config.sandbox is Sandbox.BUBBLEWRAP else nullcontext() as held:
        process = _process(config, connection, lifeline, held, scratch)
        try:
            lifeline.tie(process.pid)
            return process, process.pid if held is None else _number(process, held)
        except BaseException:
            end_group(process)
            process.communicate()
            raise


def _number(process: subprocess.Popen[bytes], held: HeldStart) -> int:
    """The number of the kernel's own process in a sandbox, which begins now."""
    held.begin()
    number = held.child()
    if number is None:  # bubblewrap has ended, and perhaps not the process that it had begun
        end_group(process)
    return number or process.pid


def _process(
    config: KernelConfig,
    connection: int,
    lifeline: Lifeline,
    held: HeldStart | None,
    scratch: str | None,
) -> subprocess.Popen[bytes]:
    texts = config.programs.descriptor()
    boot = f"{program('boot.js').rstrip()}(require, process, Buffer, {connection}, {texts})"
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    if scratch is not None:
        environment["TMPDIR"] = scratch
    if config.sandbox is not Sandbox.NONE:  # its own program is looked up
        environment["PATH"] = os.environ.get("PATH", os.defpath)
    command = wrapped(
        config.sandbox,
        [config.node, *_flags(config, scratch), "-e", boot],
        network=config.network,
        readable=config.readable,
        writable=() if scratch is None else (scratch,),
        held=held,
    )
    inherited = [connection, texts, *lifeline.inherited]
    if held is not None:
        inherited += [held.options, held.info]
    return subprocess.Popen(  # noqa: S603 - the Node that was found
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        cwd="/",
        pass_fds=inherited,
        start_new_session=True,  # Ctrl-C is for the host
    )


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
        *config.flags,
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
