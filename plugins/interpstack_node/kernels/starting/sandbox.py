"""Namespaces of the system around a kernel process, where the machine grants them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Final

from interpstack import EngineFailure
from interpstack_node.kernels.starting.held import LAST_OPTION, HeldStart

__all__ = ["Sandbox", "choose_sandbox", "end_group", "pidfd", "sandbox_faults", "wrapped"]

_TRY_SECONDS: Final = 20.0
_LINUX: Final = "only Linux has it"
#: Characters of a program's complaint that a message repeats.
_SHOWN_CHARS: Final = 200
#: Folders of programs and libraries.
_SYSTEM: Final = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime")
#: Files for name look-ups and certificates.
_NETWORK: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/pki")


class Sandbox(Enum):
    """A program that puts a kernel into namespaces of its own."""

    BUBBLEWRAP = "bubblewrap"  #: other files, network, users and interprocess communication
    UNSHARE = "unshare"  #: the same without files
    NONE = "none"


@lru_cache(maxsize=16)
def choose_sandbox(wanted: str, node: str) -> Sandbox:
    """The strongest sandbox that works on this machine; tried once.

    Args:
        wanted: `auto`, or the value of a `Sandbox`.
        node: Path of Node.

    Raises:
        EngineFailure: The sandbox that was asked for does not work here.
    """
    if wanted == Sandbox.NONE.value:
        return Sandbox.NONE
    named = [one for one in Sandbox if wanted in ("auto", one.value) and one is not Sandbox.NONE]
    complaint = _LINUX
    for sandbox in named if sys.platform == "linux" else ():
        complaint = _complaint(sandbox, node)
        if not complaint:
            return sandbox
    if wanted == "auto":
        return Sandbox.NONE
    raise EngineFailure(
        f"engine 'node' cannot use the sandbox {wanted!r}: {complaint}; install it, permit user "
        "namespaces, or leave the option sandbox out"
    )


def sandbox_faults(node: str) -> dict[Sandbox, str]:
    """The reason why each sandbox does not work here, the strongest first; empty if it does."""
    real = [one for one in Sandbox if one is not Sandbox.NONE]
    if sys.platform != "linux":
        return dict.fromkeys(real, _LINUX)
    return {sandbox: _complaint(sandbox, node) for sandbox in real}


def _complaint(sandbox: Sandbox, node: str) -> str:
    """The reason why a sandbox does not work; empty if it does."""
    command = wrapped(sandbox, [node, "--version"], network=False)
    if shutil.which(command[0]) is None:
        return f"there is no program {command[0]!r}"
    try:
        process = subprocess.Popen(  # noqa: S603 - the Node that was found
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        return str(error)
    with process:
        try:
            _, output = process.communicate(timeout=_TRY_SECONDS)
        except subprocess.TimeoutExpired as error:
            return str(error)
        finally:
            end_group(process)
    said = output.decode("utf-8", "replace").strip()[:_SHOWN_CHARS]
    return "" if process.returncode == 0 else said or f"status {process.returncode}"


def wrapped(
    sandbox: Sandbox,
    command: Sequence[str],
    *,
    network: bool,
    readable: Sequence[str] = (),
    writable: Sequence[str] = (),
    held: HeldStart | None = None,
) -> list[str]:
    """A command that runs another one in a sandbox.

    Args:
        sandbox: The sandbox.
        command: The command to run, which begins with the path of a program.
        network: Whether it has the host's network.
        readable: Files and folders that it may read.
        writable: Folders that it may write.
        held: Lets bubblewrap begin, and learns the number of its child.
    """
    if sandbox is Sandbox.NONE:
        return list(command)
    if sandbox is Sandbox.UNSHARE:
        net = [] if network else ["--net"]
        return ["unshare", "--user", "--map-current-user", "--ipc", "--uts", *net, "--", *command]
    flags = ["--unshare-user", "--unshare-ipc", "--unshare-cgroup-try", "--hostname", "sandbox"]
    if held is None:
        flags.append(LAST_OPTION)
    else:
        flags += ["--info-fd", str(held.info), "--args", str(held.options)]
    flags += [] if network else ["--unshare-net"]
    for path in (*_SYSTEM, *(_NETWORK if network else ())):
        flags += ["--ro-bind-try", path, path]
    program = str(Path(command[0]).resolve())
    for path in (program, *readable):
        flags += ["--ro-bind", path, path]
    for path in writable:
        flags += ["--bind", path, path]
    return ["bwrap", *flags, "--dev", "/dev", "--chdir", "/", "--", program, *command[1:]]


def pidfd(pid: int) -> int | None:
    """A descriptor that means this process and no later one; `None` where there is none."""
    opened = getattr(os, "pidfd_open", None)
    with suppress(OSError):
        return None if opened is None else int(opened(pid))
    return None


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group, and the others of the group with it.

    Bubblewrap's child waits for bubblewrap without end if that is killed alone. Once the end of
    the process is known, its number may mean another group, which is left alone.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):  # all of them have ended
            os.killpg(process.pid, signal.SIGKILL)
