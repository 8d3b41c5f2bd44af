"""One kernel process: started, asked, interrupted and ended by the host."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from interpstack_node.kernels.confine import allow_cpu, allow_rest, cpu_clock, seal
from interpstack_node.kernels.conversation import Callbacks, CommandRoundTrip, KernelAnswer
from interpstack_node.kernels.frames import Frames
from interpstack_node.kernels.starting.launch import KernelConfig, launch
from interpstack_node.kernels.starting.launched import error_output, told_end
from interpstack_node.kernels.stops import Stop, Stops
from interpstack_node.kernels.waiting import Talk, converse_blocking

__all__ = ["KernelDied", "KernelProcess"]

#: Seconds that a kernel may take to start, on a busy machine.
_START_SECONDS: Final = 60.0
#: Seconds to wait for the end of a process that has closed its connection.
_LEAVE_SECONDS: Final = 0.5
#: What V8 and the C++ library print before they end a process that has no memory left.
_NO_MEMORY: Final = (
    b"out of memory",
    b"OOM",
    b"Allocation failed",
    b"invalid size error",
    b"std::bad_alloc",
)


class KernelDied(Exception):
    """A kernel process has ended; the message says how.

    Attributes:
        memory: Whether it ended because it had no memory left.
        slow: Whether the host ended it because it did not stop.
    """

    def __init__(self, reason: str, *, memory: bool = False, slow: bool = False) -> None:
        super().__init__(reason)
        self.memory = memory
        self.slow = slow


class KernelProcess:
    """A Node process for one guest.

    Args:
        config: How to start it.

    Raises:
        EngineFailure: The system starts no process.
    """

    def __init__(self, config: KernelConfig) -> None:
        self.config = config
        self.pid_of_host = os.getpid()
        self.connection, theirs = socket.socketpair()
        self.connection.setblocking(False)
        if config.idle_seconds is not None:
            _set_idle(theirs, config.idle_seconds)
        with theirs:
            try:
                self._launched = launch(config, theirs.fileno())
            except BaseException:
                self.connection.close()
                raise
        self._process, self.pid = self._launched.process, self._launched.pid
        self.frames = Frames(config.most_bytes)
        self._clock = cpu_clock(self.pid)
        self._death: KernelDied | None = None
        self.stops = Stops(lambda: self.signal(signal.SIGINT))
        self._signals_seen = 0
        self._started = False
        self._end = weakref.finalize(self, self._launched.end, self.connection, os.getpid())

    @property
    def cpu_seconds(self) -> float:
        """Seconds that the process has computed."""
        try:
            return float(self._clock())
        except OSError:
            return 0.0  # it is gone, which the connection tells

    @property
    def grace_seconds(self) -> float:
        """Seconds that its guest has to stop once its time is up."""
        return self.config.grace_seconds

    @property
    def alive(self) -> bool:
        """Whether it can be asked, as far as that can be seen without asking."""
        if self._death is None and self._process.poll() is not None:
            self.ended("")
        return self._death is None

    def check(self) -> None:
        """Raise what ended the process, if something did.

        Raises:
            KernelDied: It has ended.
        """
        if self._death is not None:
            raise self._death

    # -- asking ----------------------------------------------------------------------------

    @property
    def is_started(self) -> bool:
        """Whether it takes commands."""
        return self._started

    def start(self) -> None:
        """Carry out the start in this thread; see `starting`."""
        converse_blocking(self.starting())

    def starting(self) -> Talk[None]:
        """Wait until the guest's context is made, then drop the privileges of its process.

        No code of a guest runs before that.

        Raises:
            KernelDied: The process ended, or is not a kernel.
        """
        if self._started:
            return
        ends = time.monotonic() + _START_SECONDS
        late = Callbacks(is_interrupted=lambda: time.monotonic() > ends)
        yield from CommandRoundTrip(self, Stop(self.stops), None, late).greet()
        self._started = True
        seal(self.pid, self.config.memory_bytes, self.config.descriptors)

    def ask(self, *command: Any, seconds: float | None) -> KernelAnswer:
        """Carry out a command in this thread; see `talk`."""
        return converse_blocking(self.talk(command, seconds))

    def talk(
        self,
        command: Sequence[Any],
        seconds: float | None,
        callbacks: Callbacks | None = None,
        stop: Stop | None = None,
    ) -> Talk[KernelAnswer]:
        """The conversation about one command; see `CommandRoundTrip.run`.

        Args:
            command: Its name and arguments, plain JSON values.
            seconds: Computing time it may take; `None` for no limit.
            callbacks: The host's part.
            stop: Stops the guest; one of `stops`.
        """
        yield from self._settle()
        allow_cpu(self.pid, self.cpu_seconds, seconds)
        conversation = CommandRoundTrip(self, stop or Stop(self.stops), seconds, callbacks)
        answer = yield from conversation.run(command)
        self._signals_seen = answer.signals_seen
        return answer

    def _settle(self) -> Talk[None]:
        """Have the kernel wait for unseen signals, which are for an earlier command."""
        sent = self.stops.sent
        if self._signals_seen == sent:
            return
        allow_cpu(self.pid, self.cpu_seconds, None)
        yield from CommandRoundTrip(self, Stop(self.stops), None).run(["settle", sent])
        self._signals_seen = sent

    def rest(self) -> None:
        """Note that no cell runs, so that there is nothing to compute."""
        if self.alive:
            allow_rest(self.pid, self.cpu_seconds)

    # -- ending ----------------------------------------------------------------------------

    def signal(self, number: int) -> None:
        """Send a signal, if the process has not ended."""
        self._launched.signal(number)

    def close(self) -> None:
        """End the process. Closing twice is allowed."""
        self._end()
        if self._death is None:
            self._death = KernelDied("the kernel was closed")

    def ended(self, reason: str, *, slow: bool = False) -> KernelDied:
        """End the process if it has not ended, and return the exception that says how it did.

        Args:
            reason: Why the host ends it; empty if it ended by itself.
            slow: Whether that is because it did not stop.
        """
        if self._death is None:
            output = b""
            if not reason:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_LEAVE_SECONDS)
                output = error_output(self._process)
            status = self._process.poll()
            slow = slow or status in (-signal.SIGINT, 128 + signal.SIGINT)
            memory = any(text in output for text in _NO_MEMORY)
            ending = reason or told_end(status, output, self._started)
            self._death = KernelDied(f"the kernel process {ending}", memory=memory, slow=slow)
            self._end()
        return self._death


def _set_idle(connection: socket.socket, seconds: float) -> None:
    """Have reading fail after that time; a kernel waits for commands in `read`, and then ends."""
    whole = int(seconds)
    timeout = struct.pack("@ll", whole, int((seconds - whole) * 1e6))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
