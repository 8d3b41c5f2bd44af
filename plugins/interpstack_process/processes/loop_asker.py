"""A command whose answer an event loop waits for, with no thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Protocol

from interpstack_process.frames import SLICE_SECONDS
from interpstack_process.processes.round_trips import Skipped, WorkerRoundTrip
from interpstack_process.processes.turns import CommandQueue
from interpstack_workers import MalformedMessage, WorkerAnswer, WorkerDied

__all__ = ["LoopAsker", "Watches", "running_loop"]


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of this thread, if one runs."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Watches:
    """The event loops that watch a connection, each for one asker at most."""

    def __init__(self) -> None:
        self._askers: dict[asyncio.AbstractEventLoop, LoopAsker] = {}

    def begin(self, loop: asyncio.AbstractEventLoop, number: int, asker: LoopAsker) -> None:
        """Call an asker, in its loop, when something comes over the socket of this number."""
        self._askers[loop] = asker
        loop.add_reader(number, asker.go_on)

    def end(self, loop: asyncio.AbstractEventLoop, number: int, asker: LoopAsker) -> None:
        """Call it no more, unless the loop watches for another asker by now."""
        if self._askers.get(loop) is asker:
            del self._askers[loop]
            loop.remove_reader(number)

    @property
    def active(self) -> bool:
        """Whether a loop that runs watches the connection, so that its socket stays open."""
        return any(loop.is_running() for loop in list(self._askers))


class Asked(Protocol):
    """A worker that is asked.

    Attributes:
        turns: The turns of those who ask it.
        watches: The event loops that watch its connection.
    """

    turns: CommandQueue
    watches: Watches

    def check(self) -> None:
        """Check that a command can be carried out.

        Raises:
            WorkerDied: The worker ended before the command.
        """

    def interrupt(self, number: int) -> None:
        """Have the command of this number stopped, or skipped if it has not begun."""

    def failure(self, error: BaseException) -> BaseException:
        """The error for the asker, once the worker was ended if it cannot go on; may wait."""


class LoopAsker:
    """Waits for its turn, and for the answer to its command, by callbacks of an event loop.

    Others who wait for the same worker see to it that it goes on although its loop does not; see
    `CommandQueue`. So its steps may be taken in any thread, one at a time.

    Args:
        worker: The worker that is asked.
        start: Sends the command, and returns its round trip.
        interrupted: Becomes true when the guest is to be stopped.
    """

    def __init__(
        self, worker: Asked, start: Callable[[], WorkerRoundTrip], interrupted: Callable[[], bool]
    ) -> None:
        self._worker = worker
        self._start = start
        self._interrupted = interrupted
        self._loop = asyncio.get_running_loop()
        self._answer: Future[WorkerAnswer | None] = Future()
        self._answer.set_running_or_notify_cancel()
        self._lock = threading.Lock()
        self._round_trip: WorkerRoundTrip | None = None
        self._leads = False
        self._writes = False
        self._over = False
        self._death: WorkerDied | None = None
        self._timer: asyncio.TimerHandle | None = None

    def ask(self) -> Future[WorkerAnswer | None]:
        """Take a turn, on the event loop.

        Returns:
            A future of the answer, or of `None` if it was interrupted before its turn had come.
        """
        self._worker.turns.take(self)
        self._wait_on()
        return self._answer

    # -- the turn --------------------------------------------------------------------------

    @property
    def ahead(self) -> bool:
        return self._round_trip is None or not self._round_trip.sending

    def begin(self) -> bool:
        try:
            self._round_trip = self._start()
        except WorkerDied as death:
            self._death = death
            return False
        except Exception as error:  # noqa: BLE001 - whoever waits for the answer gets it
            self._over = True
            self._end_badly(error)
        else:
            if self._round_trip.sending:
                self._on_loop(self._watch)
        return True

    def lead(self) -> None:
        if self._over or self._round_trip is None:
            return
        try:
            self._worker.check()
        except WorkerDied as death:  # of another command: this one was not read
            self._death = death
            self._worker.turns.give_back(self)
            self.refuse()
        else:
            self._round_trip.watch.start()
            self._leads = True
            self._on_loop(self._watch)

    def refuse(self) -> None:
        self._over = True
        self._on_loop(self._stop_watching)
        self._answer.set_exception(self._death)

    def look(self) -> None:
        self._take_steps(check=True)

    def go_on(self) -> None:
        """Send and receive what goes without waiting."""
        self._take_steps(check=False)

    def skip(self, number: int) -> bool:
        if self._round_trip is None or self._round_trip.number != number:
            return False
        self._over = True
        self._on_loop(self._stop_watching)
        self._answer.set_result(None)
        return True

    def _take_steps(self, *, check: bool) -> None:
        while (skipped := self._take_step(check=check)) is not None:
            if not self._worker.turns.skip(skipped.number):
                self._over = True
                self._end_badly(
                    MalformedMessage("word that it skipped a command that it does not have")
                )

    def _take_step(self, *, check: bool) -> Skipped | None:
        """Send and receive, and end the round trip if its end has come.

        Returns:
            Word that the command of another asker was skipped, if that came instead.
        """
        found: WorkerAnswer | Skipped | None = None
        failure: Exception | None = None
        with self._lock:
            round_trip = self._round_trip
            if self._over or round_trip is None:
                return None
            try:
                round_trip.send()
                if self._leads and not round_trip.sending:
                    found = round_trip.receive()
                    if found is None and check:
                        round_trip.watch()
            except Exception as error:  # noqa: BLE001 - likewise
                failure = error
            if isinstance(found, Skipped) and found.number != round_trip.number:
                return found
            self._over = found is not None or failure is not None
        if self._writes and not round_trip.sending:
            self._on_loop(self._watch)
        if failure is not None:
            self._end_badly(failure)
        elif found is not None:
            self._worker.turns.give_back(self)  # before the answer is read: the worker waits
            self._on_loop(self._stop_watching)
            self._answer.set_result(found if isinstance(found, WorkerAnswer) else None)
        return None

    def _end_badly(self, error: Exception) -> None:
        self._on_loop(self._stop_watching)
        ending = threading.Thread(
            target=self._end_in_thread, args=(error,), name="interpstack-process-ending"
        )
        ending.start()

    def _end_in_thread(self, error: Exception) -> None:
        try:
            failure = self._worker.failure(error)
        finally:
            self._worker.turns.give_back(self)
        self._answer.set_exception(failure)

    # -- on the loop -----------------------------------------------------------------------

    def _on_loop(self, call: Callable[[], None]) -> None:
        """Call in the event loop, now if this is its thread."""
        if running_loop() is self._loop:
            call()
            return
        with suppress(RuntimeError):  # the loop was closed, and watches nothing
            self._loop.call_soon_threadsafe(call)

    def _wait_on(self) -> None:
        if not self._over:
            self._timer = self._loop.call_later(SLICE_SECONDS, self._look_again)

    def _look_again(self) -> None:
        """Look at whether waiting still makes sense."""
        if self._leads:
            self.look()
        else:
            self._worker.turns.look()
            if self._interrupted():
                self._withdraw()
        self._wait_on()

    def _withdraw(self) -> None:
        """Take the command back: it was not sent, or the worker is asked to skip it."""
        if self._worker.turns.withdraw(self):
            self._over = True
            self._answer.set_result(None)
        elif self._round_trip is not None and not self._round_trip.sending:
            self._worker.interrupt(self._round_trip.number)

    def _watch(self) -> None:
        """Watch for what the round trip waits for: until all is sent, it receives nothing."""
        round_trip = self._round_trip
        if self._over or round_trip is None:
            return
        if round_trip.sending:
            self._writes = True
            self._loop.add_writer(round_trip.fileno, self.go_on)
            return
        self._stop_writing()
        if self._leads:
            self._worker.watches.begin(self._loop, round_trip.fileno, self)
            if round_trip.has_more:
                self._loop.call_soon(self.go_on)

    def _stop_writing(self) -> None:
        if self._writes and self._round_trip is not None:
            self._writes = False
            self._loop.remove_writer(self._round_trip.fileno)
            self._worker.turns.let_in()

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._stop_writing()
        if self._round_trip is not None:
            self._worker.watches.end(self._loop, self._round_trip.fileno, self)
