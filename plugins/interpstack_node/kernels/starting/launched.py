"""Kernel processes that were started: signals to them, their end, and its description."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from typing import Final

from interpstack_node.kernels.starting.lifeline import Lifeline
from interpstack_node.kernels.starting.sandbox import end_group, pidfd

__all__ = ["Launched", "error_output", "told_end"]

#: Seconds to wait for the end of a process that was killed.
_END_SECONDS: Final = 10.0
#: Bytes of error output that are looked at when a kernel has ended.
_ERROR_BYTES: Final = 65_536
_SHOWN_CHARS: Final = 300
_SIGNALLED: Final = 128


class Launched:
    """A process that was started, perhaps inside the program of a sandbox.

    Args:
        process: The process that the host started and waits for; it leads a group.
        pid: Number of the kernel's own process.
        lifeline: Ends both with the host.
        scratch: A folder that is removed when the process has ended.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        pid: int,
        lifeline: Lifeline,
        scratch: str | None,
    ) -> None:
        self.process = process
        self.pid = pid
        self._lifeline = lifeline
        self._scratch = scratch
        # The number of a process inside a sandbox may mean another one once it has ended.
        self._inner = pidfd(pid) if pid != process.pid else None

    def signal(self, number: int) -> None:
        """Send a signal to the kernel, if it has not ended."""
        with suppress(ProcessLookupError):
            if self._inner is not None:
                signal.pidfd_send_signal(self._inner, number)
            elif self.process.poll() is None:
                os.kill(self.pid, number)

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
            self._lifeline.close()  # the parent holds its end, too
            self.process.poll()  # after a fork it is the parent's, and counts as ended here
            return
        self.signal(signal.SIGKILL)
        end_group(self.process)
        self._lifeline.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        if self._inner is not None:
            os.close(self._inner)
            self._inner = None
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)


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
