"""The host's side of one worker process: starting it, asking it, ending it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

from interpstack_process.frames import SLICE_SECONDS, Channel, Closed
from interpstack_process.processes.launch import WorkerConfig, launch, told_end
from interpstack_process.processes.loop_asker import LoopAsker, Watches, running_loop
from interpstack_process.processes.round_trips import WorkerRoundTrip
from interpstack_process.processes.timeouts import CommandDeadline, CommandTimeout
from interpstack_process.processes.turns import CommandQueue, ThreadAsker
from interpstack_process.worker import INTERRUPT
from interpstack_workers import (
    REFUSALS,
    Command,
    MalformedMessage,
    Worker,
    WorkerAnswer,
    WorkerDied,
)

__all__ = ["WorkerProcess"]

#: Seconds a worker may take until it is ready; compiling a guest for the first time is slow.
_START_SECONDS: Final = 60.0
#: Seconds to wait for the end of a process that was killed.
_END_SECONDS: Final = 10.0
#: Bytes of a failed start's error output that are shown.
_SHOWN_BYTES: Final = 2000


class WorkerProcess(Worker):
    """One worker process.

    A thread of its own notices its end at once, whatever the cause, and takes it out of the
    process table.

    Args:
        config: How to start it.
        on_end: Called once, when it has ended.
    """

    def __init__(self, config: WorkerConfig, on_end: Callable[[WorkerProcess], None]) -> None:
        self._config = config
        self._on_end = on_end
        self.turns = CommandQueue()
        self.watches = Watches()
        self._end_lock = threading.RLock()
        self._number = 0
        self.ready = False
        self.ended = False
        self.reason = ""
        #: Realms in this worker, and realms to be closed with the next command.
        self.realms: set[int] = set()
        self.cells: set[int] = set()
        self._leaving: deque[int] = deque()
        commands, theirs = socket.socketpair()
        self._control, control = socket.socketpair()
        self._channel = Channel(commands, config.max_bytes)
        with theirs, control:
            try:
                self.process = launch(config, theirs.fileno(), control.fileno())
            except BaseException:
                self._channel.close()
                self._control.close()
                raise
        self.pid = self.process.pid
        self._watcher = threading.Thread(
            target=self._watch, name="interpstack-process-watcher", daemon=True
        )
        self._watcher.start()
        # The worker does not read yet, but the message fits into the socket's buffer.
        with suppress(Closed):
            self._channel.send(config.message)

    # -- asking ----------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self.turns.taken

    def ask(self, command: Command) -> WorkerAnswer | None:
        asker = ThreadAsker()
        if not self._wait_for_turn(asker, command.interrupted):
            return None
        try:
            if not self.ended and not self.ready:
                self._greet()
            round_trip, message = self._round_trip(command)
            return round_trip.wait(message, command.attached)
        except BaseException as error:
            failure = self.failure(error)
            if failure is error:
                raise
            raise failure from error
        finally:
            self.turns.give_back(asker)

    def submit(self, command: Command) -> Future[WorkerAnswer | None] | None:
        if not self.ready or running_loop() is None:
            return None

        def start() -> WorkerRoundTrip:
            round_trip, message = self._round_trip(command)
            round_trip.start(message, command.attached)
            return round_trip

        return LoopAsker(self, start, command.interrupted).ask()

    def check(self) -> None:
        """Check that a command can be carried out.

        Raises:
            WorkerDied: The worker ended before the command.
        """
        if self.ended:
            raise WorkerDied(self.reason, unread=True)

    def _wait_for_turn(
        self, asker: ThreadAsker, interrupted: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait for a turn in this thread; whether it came before the interruption."""
        self.turns.take(asker)
        try:
            while not asker.wait(SLICE_SECONDS):
                self.turns.look()
                if interrupted() and self.turns.withdraw(asker):
                    return False
        except BaseException:
            if not self.turns.withdraw(asker):
                self.turns.give_back(asker)
            raise
        return True

    def _round_trip(self, command: Command) -> tuple[WorkerRoundTrip, dict[str, Any]]:
        """The round trip whose turn it is, and the message to begin it with.

        Raises:
            WorkerDied: The worker ended before.
        """
        self.check()
        self._number += 1
        leave = [self._leaving.popleft() for _ in range(len(self._leaving))]
        grace = self._config.grace_seconds
        watch = CommandDeadline(self, self._number, command.seconds, grace, command.interrupted)
        more = {"number": self._number, "leave": leave, "within": watch.seconds}
        round_trip = WorkerRoundTrip(self._channel, self._number, watch, command.hear)
        return round_trip, {**command.message, **more}

    def failure(self, error: BaseException) -> BaseException:
        """The error for the asker, once the worker was ended if it cannot go on."""
        if isinstance(error, Closed):
            self._end_after(error)
            return WorkerDied(
                self.reason, unread=error.unread, late=isinstance(error, CommandTimeout)
            )
        if isinstance(error, MalformedMessage):
            self.end(f"was killed because it sent {error}")
            return WorkerDied(self.reason, unread=False)
        if not isinstance(error, (WorkerDied, *REFUSALS)):
            # The next command would receive the rest of this answer.
            self.end("was killed because a command could not be sent, or its answer not be read")
        return error

    def _greet(self) -> None:
        """Wait until the worker has loaded its engine."""
        watch = CommandDeadline(self, 0, _START_SECONDS, 0.0, lambda: False)
        try:
            message, _ = self._channel.receive(watch)
        except Closed as error:
            self._end_after(error)
            shown = self.process.stderr.read(_SHOWN_BYTES) if self.process.stderr else b""
            last = shown.decode("utf-8", "replace").strip().rpartition("\n")[2]
            self.reason += f" while it started ({last})" if last else " while it started"
            raise WorkerDied(self.reason, unread=True) from error
        if not isinstance(message, dict) or "ready" not in message:
            raise MalformedMessage("a message that is not a greeting")
        self.ready = True
        if self.process.stderr is not None:
            self.process.stderr.close()

    def interrupt(self, number: int) -> None:
        """Have a command's guest code stopped."""
        with suppress(OSError):
            self._control.send(INTERRUPT.pack(number), socket.MSG_DONTWAIT)

    def leave(self, realm: int) -> None:
        """Close a realm with the next command. Takes no lock, so that finalizers may call it."""
        self._leaving.append(realm)
        self.realms.discard(realm)
        self.cells.discard(realm)

    # -- ending ----------------------------------------------------------------------------

    def end(self, reason: str | None) -> None:
        """End the process and all processes that it started, and wait until they have ended.

        Args:
            reason: Why; `None` if it has ended by itself.
        """
        with self._end_lock:
            if self.ended:
                return
            # No other thread waits for the process, so the system has not reused its id.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            try:
                status = self.process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                status = 0
                reason = reason or "cannot be ended"
            self.reason = f"the worker process {reason or told_end(status)}"
            self.ended = True
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._on_end(self)

    def _end_after(self, error: Closed) -> None:
        """End a process that has ended by itself, or has had its time."""
        late = isinstance(error, CommandTimeout)
        self.end(f"was killed because it {error}" if late else None)

    def join(self) -> None:
        """Wait for the thread that watches an ended process."""
        if self._watcher is not threading.current_thread():
            self._watcher.join(_END_SECONDS)

    def disown(self) -> None:
        """Forget the process without touching it: it is another process' child."""
        self.ended, self.reason = True, "the worker process belongs to another process"
        self.process.returncode = 0
        self._close()

    def _watch(self) -> None:
        try:
            spoke = self._control.recv(1) != b""
        except OSError:
            spoke = False
        self.end("was killed because it used the control connection" if spoke else None)
        asker = ThreadAsker()
        self._wait_for_turn(asker)
        while self.watches.active:
            time.sleep(SLICE_SECONDS)
        self._close()
        self.turns.give_back(asker)

    def _close(self) -> None:
        self._channel.close()
        self._control.close()
        if self.process.stderr is not None:
            self.process.stderr.close()
